"""The vectors of texts, kept, so that each text is embedded once.

The wrapped store need not be rebuilt for it: `wire` finds where the store has its embeddings,
and puts `CachedEmbeddings` around them. Where that cannot be done, build the store with them:
`Chroma("name", embedding_function=CachedEmbeddings(embeddings, cache))`.

- `EmbeddingCache`: what is needed of a cache; anything with these methods will do.
- `ByteStoreEmbeddingCache`: one in any LangChain `ByteStore`, such as a `LocalFileStore`.
- `langchain_rag.storage.SQLEmbeddingCache`: one in SQLite or PostgreSQL.
- `CachedEmbeddings`: LangChain embeddings that look into a cache before they embed.
- `wire`: gives the embeddings of a vector store a cache.
- `identity_of_embeddings`: what tells the vectors of one model from those of another.
- `tallying`, `EmbeddingTally`: how many texts were embedded, and how many found, meanwhile.

Example:
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> from langchain_core.stores import InMemoryByteStore
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> cache = ByteStoreEmbeddingCache(InMemoryByteStore())
    >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    >>> wire(store, cache) is store.embeddings
    True
    >>> with tallying() as tally:
    ...     ids = store.add_texts(["a", "b", "a"])
    ...     ids = store.add_texts(["a", "c"])
    >>> tally.embedded, tally.hits
    (3, 1)
"""

from langchain_rag.caches.embedding_codec import EmbeddingCacheStats
from langchain_rag.caches.embeddings import ByteStoreEmbeddingCache, EmbeddingCache
from langchain_rag.embedding_cache.cached import CachedEmbeddings
from langchain_rag.embedding_cache.identity import identity_of_embeddings
from langchain_rag.embedding_cache.tally import TALLY, EmbeddingTally, tallying
from langchain_rag.embedding_cache.wiring import wire

__all__ = [
    "TALLY",
    "ByteStoreEmbeddingCache",
    "CachedEmbeddings",
    "EmbeddingCache",
    "EmbeddingCacheStats",
    "EmbeddingTally",
    "identity_of_embeddings",
    "tallying",
    "wire",
]
