"""Everything that `rag.index()` writes to, in memory, and failing as planned."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    Node,
    marked,
)
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.document_transformers.trees.document_summary import (
    DocumentSummaryTransformer,
)
from langchain_rag.document_transformers.trees.hierarchical import HierarchicalSplitter
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache
from langchain_rag.storage import InMemoryRecordManager
from langchain_rag.testing import (
    Contents,
    CountingEmbeddings,
    FaultPlan,
    ScriptedChatModel,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from langchain_rag.testing import Driver
    from langchain_rag.testing.faults import Ticket
    from langchain_rag.vectorstores import RAGVectorStore

CONCURRENCY = 2
IN_FLIGHT = 2 * CONCURRENCY
"""Answers that may be lost: as many as there are calls, and as many that just arrived."""


class SharedPlan(FaultPlan):
    """A plan for stores that are called from several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self.struck: str | None = None

    def begin_anew(self) -> None:
        """Forget what was struck."""
        self.struck = None

    def begin(self, name: str, size: int, keys: tuple[str, ...] = ()) -> Ticket:
        """Number and log a call; see `FaultPlan.begin`."""
        with self._lock:
            before = len(self._faults)
            try:
                return super().begin(name, size, keys)
            finally:
                if len(self._faults) < before:
                    self.struck = name


class FaultyRecords(InMemoryRecordManager):
    """A record manager whose writes fail as planned."""

    def __init__(self, plan: FaultPlan) -> None:
        super().__init__("world")
        self._plan = plan

    def _do(self, name: str, keys: Sequence[str], write: Callable[[int], None]) -> None:
        ticket = self._plan.begin(name, len(keys), tuple(keys))
        write(len(keys) if ticket.rows is None else ticket.rows)
        self._plan.finish(ticket)

    def update(self, keys: Sequence[str], *, group_ids: Any = None, **kwargs: Any) -> None:
        def write(number: int) -> None:
            groups = None if group_ids is None else group_ids[:number]
            super(FaultyRecords, self).update(keys[:number], group_ids=groups, **kwargs)

        self._do("records update", keys, write)

    async def aupdate(self, keys: Sequence[str], **kwargs: Any) -> None:
        await asyncio.sleep(0)
        self.update(keys, **kwargs)

    def delete_keys(self, keys: Sequence[str]) -> None:
        write = super().delete_keys
        self._do("records delete", keys, lambda number: write(keys[:number]))

    async def adelete_keys(self, keys: Sequence[str]) -> None:
        await asyncio.sleep(0)
        self.delete_keys(keys)

    def exists(self, keys: Sequence[str]) -> list[bool]:
        self._plan.check()
        return super().exists(keys)

    def list_keys(self, **kwargs: Any) -> list[str]:
        self._plan.check()
        return super().list_keys(**kwargs)


class FaultyBytes(InMemoryByteStore):
    """What a cache is in, whose writes fail as planned.

    Args:
        plan: The plan.
        name: Of the cache.
    """

    def __init__(self, plan: FaultPlan, name: str) -> None:
        super().__init__()
        self._plan = plan
        self._name = name

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        ticket = self._plan.begin(f"cache of {self._name}", len(key_value_pairs))
        super().mset(key_value_pairs[: ticket.rows])
        self._plan.finish(ticket)

    async def amset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        await asyncio.sleep(0)
        self.mset(key_value_pairs)


class NamedEmbeddings(CountingEmbeddings):
    """Embeddings that may be cached."""

    fingerprint = "counting"


class Works(World):
    """Stores, records and both caches, and a model that is paid for."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self.driver = driver
        self.plan: SharedPlan = SharedPlan()
        self.embeddings: CountingEmbeddings = NamedEmbeddings()
        self.rows.embedding = self.embeddings
        self.record_manager: InMemoryRecordManager = FaultyRecords(self.plan)
        self.answers = FaultyBytes(self.plan, "answers")
        self.vectors = FaultyBytes(self.plan, "vectors")
        self.model = ScriptedChatModel(answer=lambda prompt: f"What is {line_of(prompt)}?")
        self.rag: RAGVectorStore

    def begin(self) -> None:
        """Start a process."""
        self.rag = self.start(
            record_manager=self.record_manager,
            variation_cache=ByteStoreVariationCache(self.answers),
            embedding_cache=ByteStoreEmbeddingCache(self.vectors),
            max_concurrency=CONCURRENCY,
            **self.transformers(),
        )

    def transformers(self) -> dict[str, Any]:
        """What cuts the documents, and what makes the variations."""
        questions = GenerateQuestionsTransformer.from_llm(self.model, nb_of_questions=1)
        return {
            "parent_transformer": LINES,
            "chunk_transformer": CopyDocumentTransformer() + questions,
        }

    async def index(self, documents: list[Document], **options: Any) -> Any:
        """Index, in batches that overlap."""
        return await self.driver(self.rag, "index", documents, batch_size=1, **options)

    def save(self) -> tuple[dict[str, Any], ...]:
        caches = (self.answers.store, self.vectors.store)
        return (*map(dict, super().save()), *map(dict, caches))

    def load(self, saved: Any) -> None:
        *stores, answers, vectors = saved
        super().load(tuple(stores))
        self.answers.store, self.vectors.store = dict(answers), dict(vectors)
        self.plan.restart()
        self.plan.forget()
        self.plan.struck = None
        self.model.reset()
        self.embeddings.reset()

    def paid(self) -> tuple[Counter[str], Counter[str]]:
        """Count what the model was asked and what was embedded, since `load`."""
        return Counter(map(line_of, self.model.prompts)), Counter(self.embeddings.documents)

    def whole(self) -> dict[str, set[tuple[str, str]]]:
        """Chunks and variations that can be found, by document."""
        found: dict[str, set[tuple[str, str]]] = {}
        for id_, chunk, variation in reachable(self.rag):
            found.setdefault(id_, set()).add((chunk, variation))
        return found

    def state(self) -> tuple[Contents, dict[str, Any]]:
        """All that must be the same, however often it was tried."""
        found = contents(self.rag)
        records = {
            key: Document(
                one.page_content,
                metadata={k: v for k, v in one.metadata.items() if k != "revision"},
            )
            for key, one in found.records.items()
        }
        noted = {k: one["group_id"] for k, one in self.record_manager.records.items()}
        return Contents(found.rows, records), noted

    async def check_settled(self, wanted: tuple[Contents, dict[str, Any]]) -> None:
        """Everything is there, once, and the store says so too."""
        assert audit(self.rag) == []
        now, noted = self.state()
        assert noted == wanted[1]
        assert now.rows == wanted[0].rows
        assert now.records == wanted[0].records
        report = await self.driver(self.rag, "verify")
        assert report.ok, str(report)
        assert not report.busy


def line_of(prompt: str) -> str:
    """Return the chunk that a prompt is about: our chunks end in an exclamation mark."""
    return next(line for line in prompt.splitlines() if line.rstrip().endswith("!")).strip()


class _Lines(ScriptedTransformer):
    fingerprint = "lines"


LINES = _Lines(str.splitlines)


def page(name: str, *lines: str, **metadata: Any) -> Document:
    """A document of a source, whose lines become its chunks."""
    text = "\n".join(f"{name} {line}!" for line in lines)
    return Document(text, metadata={"source": name[0], **metadata})


class SummaryWorks(Works):
    """The same, with a summary above the chunks of each document."""

    def transformers(self) -> dict[str, Any]:
        return {"parent_transformer": DocumentSummaryTransformer(self.model, LINES)}


class Pairs(LazyDocumentTransformer):
    """The lines of a document, a summary of each two that follow each other, and one of all.

    So each line but the first and the last is in two clusters, as in RAPTOR. Each text begins
    with the letter of its page.
    """

    fingerprint: str | None = "pairs"

    def transform_document(self, document: Document) -> Iterator[Document]:
        """Make the three levels of a document."""
        lines = document.page_content.splitlines()
        pairs = list(pairwise(lines))
        for number, line in enumerate(lines):
            inside = (number - 1, number)
            above = tuple(f"pair {n}" for n in inside if 0 <= n < len(pairs))
            yield self._marked(document, line, Node(f"line {number}", above))
        for number, pair in enumerate(pairs):
            node = Node(f"pair {number}", ("top",), level=1, kind="summary")
            yield self._marked(document, " and ".join(pair), node)
        if pairs:
            text = f"{lines[0]} and {len(lines) - 1} more"
            yield self._marked(document, text, Node("top", level=2, kind="summary"))

    def _marked(self, document: Document, text: str, node: Node) -> Document:
        return marked(Document(text, metadata={**document.metadata, "level": node.level}), node)


class NamelessLevels(HierarchicalSplitter):
    """A splitter of which nothing says that it is the same as last time."""

    fingerprint = None


def levels(kind: type[HierarchicalSplitter] = HierarchicalSplitter) -> HierarchicalSplitter:
    """Cuts a document into pieces of two lines, and those into lines."""
    cuts = [
        RecursiveCharacterTextSplitter(
            separators=["\n"], chunk_size=size, chunk_overlap=0, keep_separator=False
        )
        for size in (60, 20, 12)
    ]
    return kind(splitters=cuts)


def patterns() -> dict[str, dict[str, Any]]:
    """The transformers of each pattern whose chunks are a tree, and of the sentence window."""
    model = ScriptedChatModel(answer=lambda prompt: f"{prompt[:8]} in short")
    lines = levels().splitters[-1]
    return {
        "levels": {"parent_transformer": levels()},
        "nameless levels": {
            "parent_transformer": levels(NamelessLevels),
            "chunk_transformer": CopyDocumentTransformer(),
        },
        "clusters": {
            "parent_transformer": Pairs(),
            "chunk_transformer": CopyDocumentTransformer(),
        },
        "document summaries": {"parent_transformer": DocumentSummaryTransformer(model, lines)},
        "sentences": {
            "parent_transformer": levels().splitters[1],
            "chunk_transformer": SentenceSplitter(),
        },
    }
