"""The vector store that indexes variations and returns chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag.vectorstores._auditing import AuditingMixin
from langchain_rag.vectorstores._making import MakingMixin
from langchain_rag.vectorstores._retrieving import RetrievingMixin
from langchain_rag.vectorstores._searching import SearchingMixin

if TYPE_CHECKING:
    from langchain_core.structured_query import Visitor


class RAGVectorStore(MakingMixin, SearchingMixin, RetrievingMixin, AuditingMixin):
    """Wraps a vector store: searches variations of chunks, and returns the chunks.

    `from_vs_in_sql` and `from_vs_in_memory` make one, with what LangChain's `index()` needs.

    Each document that is added goes through `parent_transformer`, which cuts it into chunks,
    and each chunk through `chunk_transformer`, which makes what is embedded of it: questions
    it answers, a summary, smaller pieces, a copy. The wrapped store holds these variations,
    the docstore the chunks. A search asks the wrapped store for variations and returns the
    chunks they stand for: k distinct ones, best first, with the wrapped store's scores.

    A document that is added again under its id replaces the one before, chunk by chunk: what
    did not change is neither transformed nor embedded nor written again. While it changes,
    its whole old or its whole new version can be found; a call that fails or a process that
    dies leaves nothing behind that the next call does not clear.

    With a `SQLDocStore` any number of processes may write; two that write the same document
    at the same time get a `ConcurrentWriteError` for one of them. With any other docstore one
    process at a time may write to a namespace.

    Args:
        vectorstore: The store to wrap, of any kind. It must keep the ids it is given.
        docstore: Holds chunks and bookkeeping: `InMemoryStore`, `SQLDocStore`, or any byte
            store through `langchain_classic.storage.create_kv_docstore`.
        source_id_key: Metadata key of a document's source, which several documents may
            share, or a function that returns it; None for no sources.
        parent_transformer: Cuts documents into chunks; None keeps them whole.
        chunk_transformer: Makes the variations of a chunk; None searches the chunk itself.
        namespace: Separates several stores in one docstore and one collection.
        search_type: Default of `search` and `as_retriever`: `"similarity"`, `"mmr"` or
            `"similarity_score_threshold"`.
        search_kwargs: Defaults of every search (`k`, `filter`, `score_threshold`, ...). What
            a call says beats them.
        max_concurrency: Largest number of model calls at a time of one import.
        record_manager: What `index()` notes in; `index_kwargs`, `verify` and `repair` use it.
        variation_cache: Keeps what models answer, by prompt and text, as it arrives, so that
            no answer is paid for twice: `langchain_rag.storage.SQLVariationCache`, or
            `langchain_rag.document_transformers.ByteStoreVariationCache`. None keeps nothing.
        embedding_cache: Keeps the vectors of texts, so that no text is embedded twice:
            `langchain_rag.storage.SQLEmbeddingCache`, or
            `langchain_rag.embedding_cache.ByteStoreEmbeddingCache`. It is put around the
            embeddings of the wrapped store, in place, if they say which model they are; see
            `langchain_rag.embedding_cache`. None keeps nothing.

    Raises:
        ConfigurationError: An argument cannot work.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.stores import InMemoryStore
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> rag = RAGVectorStore(
        ...     vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
        ...     docstore=InMemoryStore(),
        ...     chunk_transformer=CharacterTextSplitter(
        ...         separator=" ", chunk_size=12, chunk_overlap=0
        ...     ),
        ... )
        >>> page = Document("Euclid wrote the Elements", metadata={"source": "euclid.md"})
        >>> rag.add_documents([page], ids=["euclid"])
        ['euclid']
        >>> [document.page_content for document in rag.similarity_search("Elements", k=1)]
        ['Euclid wrote the Elements']
    """

    def structured_query_translator(self) -> Visitor:
        """Return the translator of structured queries to the wrapped store's filters.

        Returns:
            A visitor for `SelfQueryRetriever(structured_query_translator=...)`.

        Raises:
            NoTranslatorError: There is none for the wrapped store.
        """
        from langchain_rag.structured_query import translator_for  # noqa: PLC0415

        return translator_for(self)
