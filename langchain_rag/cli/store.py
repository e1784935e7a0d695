"""The store of the demo: Chroma and SQLite in one folder."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import chromadb
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.indexing import index
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag import RAGVectorStore
from langchain_rag._reserved import CHUNK, DOCUMENT, KIND, TRANSFORMER
from langchain_rag.storage import create_engine

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path
    from typing import Literal

    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.embeddings import Embeddings

__all__ = ["Match", "Store", "Stored", "opened"]

BATCH_SIZE = 4
"""Articles written at a time: what an interruption loses at most."""


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk that was found, and the variation through which it was.

    Attributes:
        chunk: The chunk.
        variation: Text of its variation that is nearest to the query.
        kind: Kind of the variation.
        distance: Cosine distance of the variation to the query: 0 is the same direction.
    """

    chunk: Document
    variation: str
    kind: str
    distance: float


@dataclass(frozen=True, slots=True)
class Stored:
    """What is in the stores.

    Attributes:
        documents: Number of source documents.
        chunks: Number of chunks.
        kinds: Number of variations of each kind.
    """

    documents: int
    chunks: int
    kinds: Counter[str]


class Store:
    """A `RAGVectorStore` over Chroma, and what the demo asks of it.

    Args:
        chroma: The wrapped store.
        rag: The store that wraps it.
        index_kwargs: What `index()` needs beside the documents.
        splitter: What `rag` cuts documents with.
    """

    def __init__(
        self,
        chroma: Chroma,
        rag: RAGVectorStore,
        index_kwargs: dict[str, Any],
        splitter: BaseDocumentTransformer,
    ) -> None:
        self.chroma = chroma
        self.rag = rag
        self._index_kwargs = index_kwargs
        self._splitter = splitter

    def import_(
        self,
        articles: Iterable[Document],
        cleanup: Literal["scoped_full", "full"] = "scoped_full",
    ) -> dict[str, int]:
        """Make the stores hold these versions of the articles.

        Args:
            articles: The articles.
            cleanup: `"scoped_full"` removes old versions of these articles; `"full"` also
                removes what is not among them.

        Returns:
            What LangChain's `index()` counted.
        """
        counted = index(articles, cleanup=cleanup, batch_size=BATCH_SIZE, **self._index_kwargs)
        return {name: int(number) for name, number in counted.items()}  # type: ignore[call-overload]

    def missing(self, articles: list[Document]) -> list[Document]:
        """Return those articles that are not stored in this version.

        Args:
            articles: The articles.

        Returns:
            Some of them.
        """
        keys = [self._index_kwargs["key_encoder"](article) for article in articles]
        known = self._index_kwargs["record_manager"].exists(keys)
        return [one for one, there in zip(articles, known, strict=True) if not there]

    def chunks_of(self, articles: Iterable[Document]) -> int:
        """Return how many chunks articles are cut into.

        Args:
            articles: The articles.

        Returns:
            The number.
        """
        return len(self._splitter.transform_documents(list(articles)))

    def stored(self) -> Stored:
        """Count what is stored.

        Returns:
            The numbers.
        """
        keys = self.rag.docstore.yield_keys
        return Stored(
            documents=sum(1 for _ in keys(prefix="manifests/")),
            chunks=sum(1 for _ in keys(prefix="chunks/")),
            kinds=Counter(kind_of(row) for row in self._rows()),
        )

    def texts_of(self, source: str) -> set[str]:
        """Return the chunks of a source.

        Args:
            source: The source.

        Returns:
            Their texts.
        """
        keys = sorted({row[CHUNK] for row in self._rows(source)})
        return {chunk.page_content for chunk in self.rag.get_by_ids(keys)}

    def matches(self, query: str, k: int) -> list[Match]:
        """Find chunks, and through which variation each was found.

        The store returns the chunks alone; which variation matched is asked of the wrapped
        store, whose rows name their chunk.

        Args:
            query: What to look for.
            k: How many chunks.

        Returns:
            At most k matches, best first.
        """
        found = self.rag.similarity_search_with_score(query, k=k)
        everything = max(1, len(self._rows()))
        best: dict[str, tuple[Document, float]] = {}
        for row, distance in self.chroma.similarity_search_with_score(query, k=everything):
            # A document that is one chunk goes by its own id.
            best.setdefault(row.metadata[CHUNK], (row, distance))
            best.setdefault(row.metadata[DOCUMENT], (row, distance))
        made: list[Match] = []
        for chunk, _ in found:
            row, distance = best[str(chunk.id)]
            made.append(Match(chunk, row.page_content, kind_of(row.metadata), distance))
        return made

    def _rows(self, source: str | None = None) -> list[dict[str, Any]]:
        where: dict[Any, Any] | None = None if source is None else {"source": source}
        found: list[dict[str, Any]] = self.chroma.get(where=where, include=["metadatas"])[
            "metadatas"
        ]
        return found


@contextmanager
def opened(
    folder: Path,
    embeddings: Embeddings,
    chunk_transformer: BaseDocumentTransformer,
    max_concurrency: int | None,
) -> Generator[Store]:
    """Open the store in a folder.

    Args:
        folder: The folder.
        embeddings: Those that the folder was made with.
        chunk_transformer: Makes the variations of a chunk.
        max_concurrency: Calls of the LLM at a time.

    Yields:
        The store, which is closed in the end.
    """
    splitter = RecursiveCharacterTextSplitter(chunk_size=1500, chunk_overlap=0)
    engine = create_engine(f"sqlite:///{folder / 'chunks.sqlite'}")
    try:
        client: Any = chromadb.PersistentClient(
            str(folder / "chroma"), Settings(anonymized_telemetry=False)
        )
        with client:
            chroma = Chroma(
                "articles",
                embeddings,
                client=client,
                collection_metadata={"hnsw:space": "cosine"},
            )
            rag, index_kwargs = RAGVectorStore.from_vs_in_sql(
                chroma,
                engine=engine,
                parent_transformer=splitter,
                chunk_transformer=chunk_transformer,
                max_concurrency=max_concurrency,
            )
            yield Store(chroma, rag, index_kwargs, splitter)
    finally:
        engine.dispose()


def kind_of(row: dict[str, Any]) -> str:
    """Return the kind of a variation.

    Args:
        row: The metadata of its row in the wrapped store.

    Returns:
        The kind, or the class of its transformer, which may be anybody's.
    """
    return str(row.get(KIND) or row.get(TRANSFORMER) or "chunk")
