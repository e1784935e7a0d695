"""Sentences are matched, and what stands around them is returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import override

from langchain_rag._documents import document_of
from langchain_rag._flow import Flow
from langchain_rag._reserved import MATCH
from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle import codec
from langchain_rag.retrievers._base import RAGRetriever
from langchain_rag.retrievers.windows import Span, Window, around, merged
from langchain_rag.search.documents import Whole, wholes
from langchain_rag.search.engine import Hit
from langchain_rag.search.options import wanted_of
from langchain_rag.search.results import details


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a chunk's windows are cut.

    Attributes:
        owner: Names the text among all.
        text: The text.
        metadata: What the windows inherit, encoded.
        start: Where the chunk begins in the text.
    """

    owner: str
    text: str
    metadata: dict[str, Any]
    start: int = 0


class SentenceWindowRetriever(RAGRetriever):
    """Finds sentences, and returns each with the sentences around it.

    The store's `chunk_transformer` is a `SentenceSplitter`, so that sentences are embedded. The
    windows are cut when they are asked for, from the chunk or from its whole document, so no
    text is stored for them, and a document that changes has no old ones. Windows of one text
    that overlap or touch are merged. A match that is no part of its chunk's text (a summary,
    a question) brings the whole chunk.

    A window's metadata is that of its chunk or document, and `start_index`: its offset there;
    where the chunk has such an index of its own (`add_start_index` of LangChain's splitters),
    in the document.

    Attributes:
        window: Sentences to return on either side of the one that matched.
        within: What a window is cut from: it ends where its `"chunk"` ends, or goes on in the
            `"document"`.
        splitter: Finds the sentences around a match: the one that cut them, if it is not as
            `SentenceSplitter()` makes it.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.stores import InMemoryStore
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_rag import RAGVectorStore
        >>> from langchain_rag.document_transformers import SentenceSplitter
        >>> rag = RAGVectorStore(
        ...     vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
        ...     docstore=InMemoryStore(),
        ...     source_id_key=None,
        ...     chunk_transformer=SentenceSplitter(),
        ... )
        >>> _ = rag.add_texts(["Euler was Swiss. He went blind. He wrote on. He died in 1783."])
        >>> retriever = SentenceWindowRetriever(vectorstore=rag, k=1, window=1)
        >>> [found.page_content for found in retriever.invoke("He went blind.")]
        ['Euler was Swiss. He went blind. He wrote on.']
    """

    window: int = Field(default=2, ge=0)
    within: Literal["chunk", "document"] = "chunk"
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)

    @override
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        wanted, _ = wanted_of(options)
        if wanted.return_documents:
            message = "SentenceWindowRetriever returns windows: leave return_documents out."
            raise ConfigurationError(message)
        question = yield from self._queries.ask(query)
        number, read = k, -1
        places: dict[str, _Place] = {}
        sentences: dict[str, Sequence[Span]] = {}
        while True:
            hits, rows = yield from self._queries.variations(question, number, options)
            yield from self._locate(hits, places)
            windows = merged(self._windows(hits, places, sentences))
            if len(windows) >= k or rows < number or rows <= read:
                break
            number, read = number * 2, rows
        found: list[Document] = []
        for window in windows[:k]:
            best = hits[window.rank]
            document = _cut(window, places[best.chunk.key])
            if wanted.match_details:
                document.metadata[MATCH] = details(best)
            found.append(document)
        return found

    def _locate(self, hits: Sequence[Hit[Any]], places: dict[str, _Place]) -> Flow[None]:
        """Find out what the windows of each hit's chunk are cut from."""
        new = {hit.chunk.key: hit.chunk for hit in hits if hit.chunk.key not in places}
        found = dict[str, Whole]()
        if self.within == "document":
            ids = [chunk.document_id for chunk in new.values()]
            found = yield from wholes(self._queries.lifecycle, ids)
        for key, chunk in new.items():
            whole = found.get(chunk.document_id)
            start = None if whole is None else whole.starts.get(key)
            if whole is None or start is None:
                # Also a summary, which is no part of its document's text.
                places[key] = _Place(f"chunk {key}", chunk.content, chunk.metadata)
            else:
                owner = f"document {chunk.document_id}"
                places[key] = _Place(owner, whole.text, whole.metadata, start)

    def _windows(
        self,
        hits: Sequence[Hit[Any]],
        places: dict[str, _Place],
        sentences: dict[str, Sequence[Span]],
    ) -> list[Window]:
        windows: list[Window] = []
        for rank, hit in enumerate(hits):
            place = places[hit.chunk.key]
            if place.owner not in sentences:
                sentences[place.owner] = self.splitter.spans(place.text)
            start, end = _match(hit)
            match = start + place.start, end + place.start
            span = around(match, sentences[place.owner], self.window)
            windows.append(Window(place.owner, *span, rank))
        return windows


def _match(hit: Hit[Any]) -> Span:
    """Say where in its chunk a variation is; all of the chunk for one that is no part of it."""
    text, content = hit.variation.page_content, hit.chunk.content
    start: object = hit.variation.metadata.get("start_index")
    # A splitter that made the chunk may have left an index of its own.
    if type(start) is not int or start < 0 or not content.startswith(text, start):
        start = content.find(text)
    return (start, start + len(text)) if start >= 0 else (0, len(content))


def _cut(window: Window, place: _Place) -> Document:
    metadata = codec.decode(place.metadata)
    own: object = metadata.get("start_index")
    metadata["start_index"] = window.start + (own if type(own) is int else 0)
    # A part of a chunk has no id of its own.
    return document_of(place.text[window.start : window.end], metadata)
