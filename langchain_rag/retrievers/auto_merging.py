"""Small chunks are found; where many of a larger one are, it takes their place."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import override

from langchain_rag._flow import Flow
from langchain_rag._reserved import MATCH
from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers._base import RAGRetriever
from langchain_rag.retrievers.merging import Merged, apart, merge, tree_of
from langchain_rag.search.options import wanted_of
from langchain_rag.search.results import details


class AutoMergingRetriever(RAGRetriever):
    """Finds leaves of a hierarchy, and returns a parent where enough of its children match.

    The store's `parent_transformer` is a `HierarchicalSplitter`: all levels are in the
    docstore, and leaves are embedded. From the lowest level up, a parent takes the place of its
    children where at least `threshold` of them are there; its score is the mean of its leaves',
    and its place that of the best of them. The idea is that of LlamaIndex's auto-merging
    retriever (2023); here the tree is in the manifests, and never older than the documents.

    With `match_details`, a merged chunk says how many leaves it stands for (`leaves`), and its
    score; the rest is of its best leaf.

    Attributes:
        threshold: Share of the children that have to be found, above 0 and up to 1.
        fetch_k: Leaves to find, by default three times `k`. Where so many of them are merged
            that fewer than `k` chunks are left, further leaves follow as they are.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.stores import InMemoryStore
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_rag import RAGVectorStore
        >>> from langchain_rag.document_transformers import HierarchicalSplitter
        >>> rag = RAGVectorStore(
        ...     vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
        ...     docstore=InMemoryStore(),
        ...     source_id_key=None,
        ...     parent_transformer=HierarchicalSplitter(chunk_sizes=(8, 2)),
        ... )
        >>> _ = rag.add_texts(["one two three four five six"])
        >>> retriever = AutoMergingRetriever(vectorstore=rag, k=2)
        >>> [found.page_content for found in retriever.invoke("three four")]
        ['one two three four five six']
    """

    threshold: float = Field(default=0.5, gt=0, le=1)
    fetch_k: int | None = Field(default=None, ge=1)

    @override
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        queries = self._queries
        wanted, _ = wanted_of(options)
        if wanted.return_documents:
            message = "AutoMergingRetriever returns chunks: leave return_documents out."
            raise ConfigurationError(message)
        question = yield from queries.ask(query)
        asked, got = max(k, self.fetch_k or 3 * k), -1
        chosen: list[Merged] = []
        while True:
            hits = yield from queries.hits(question, asked, options)
            manifests = yield from queries.lifecycle.records.manifests(
                hit.chunk.document_id for hit in hits
            )
            tree = tree_of(manifests.values())
            found = [Merged(hit.chunk.key, hit.value, rank) for rank, hit in enumerate(hits)]
            # Only what was found at first is merged: the further one looks, the more of
            # everything is found.
            chosen = chosen or merge(found, tree, self.threshold)
            chosen += apart(found, chosen, tree)
            if len(chosen) >= k or len(hits) < asked or len(hits) <= got:
                break
            asked, got = asked * 2, len(hits)
        chosen = chosen[:k]
        chunks = {hit.chunk.key: hit.chunk for hit in hits}
        above = [one.key for one in chosen if one.key not in chunks]
        chunks |= yield from queries.engine.chunks(above)
        documents: list[Document] = []
        for one in chosen:
            if one.key in chunks:
                document = chunks[one.key].public()
                if wanted.match_details:
                    own = {"score": one.score, "leaves": one.leaves}
                    document.metadata[MATCH] = details(hits[one.rank]) | own
                documents.append(document)
        return documents
