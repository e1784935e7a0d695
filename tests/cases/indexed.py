"""A store for the tests of `rag.index()`, with everything that costs counted."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.lifecycle.identity import positional_id
from langchain_rag.lifecycle.index_report import IndexReport
from langchain_rag.testing import Driver, ScriptedChatModel, World, audit
from langchain_rag.vectorstores import RAGVectorStore

ROWS = 3
"""Of each chunk: its copy and two questions."""


def page(text: str, source: str = "s", id_: str | None = None, **metadata: Any) -> Document:
    """A document of a source."""
    return Document(text, id=id_, metadata={"source": source, **metadata})


def paragraphs(*names: str) -> str:
    """A text whose paragraphs the store's splitter makes chunks of."""
    return "\n\n".join(f"this is paragraph {name:>4}" for name in names)


def numbered(number: int) -> list[str]:
    """Names for `paragraphs`."""
    return [f"{n:02}" for n in range(number)]


def place(source: str, position: int = 0) -> str:
    """The id of a document that has none of its own."""
    return positional_id(source, position)


def answer(prompt: str) -> str:
    """Two questions, which differ from one text to another."""
    return f"What of {prompt.splitlines()[0]}?\nAnd why is it so?"


def splitter(chunk_size: int = 25, **options: Any) -> RecursiveCharacterTextSplitter:
    """One that cuts between paragraphs."""
    return RecursiveCharacterTextSplitter(
        separators=["\n\n"], chunk_size=chunk_size, chunk_overlap=0, **options
    )


class Setting:
    """Stores that stay, a model that counts, and a new process for each run.

    Attributes:
        driver: Calls the methods, or their twins.
        world: The stores.
        llm: The model.
        cache: The variation cache; used where a test says so.
        options: Arguments of `RAGVectorStore`.
        version: Of the questions.
    """

    def __init__(self, driver: Driver, **options: Any) -> None:
        self.driver = driver
        self.world = World()
        self.llm = ScriptedChatModel(answer=answer)
        self.cache = ByteStoreVariationCache(InMemoryByteStore())
        self.options: dict[str, Any] = {"record_manager": self.world.record_manager, **options}
        self.version = "1"

    def questions(self, **options: Any) -> GenerateQuestionsTransformer:
        options = {"nb_of_questions": 2, "version": self.version, **options}
        return GenerateQuestionsTransformer.from_llm(self.llm, **options)

    def start(self, **options: Any) -> RAGVectorStore:
        """Start a process."""
        options = {**self.options, **options}
        options.setdefault("parent_transformer", splitter())
        options.setdefault("chunk_transformer", CopyDocumentTransformer() + self.questions())
        return self.world.start(**options)

    async def index(self, documents: Any, **options: Any) -> IndexReport:
        """Run `rag.index()` in a new process, and look whether the stores are sound."""
        rag = self.start()
        report: IndexReport = await self.driver(rag, "index", documents, **options)
        assert audit(rag) == []
        return report

    async def is_clean(self) -> bool:
        """Whether `rag.verify()` finds nothing, records included."""
        report = await self.driver(self.start(), "verify")
        return bool(report.ok)

    def forget(self) -> None:
        """Set all counts back."""
        self.llm.reset()
        self.world.embeddings.reset()
        self.world.plan.forget()

    def spent(self) -> tuple[int, int, int, int]:
        """Model calls, embedded texts, rows written and rows deleted since `forget`."""
        sizes = {"add_documents": 0, "delete": 0}
        for call in self.world.plan.calls:
            if call.name in sizes:
                sizes[call.name] += call.size
        written, deleted = sizes.values()
        return self.llm.calls, len(self.world.embeddings.documents), written, deleted

    def rows(self) -> list[dict[str, Any]]:
        """What the wrapped store holds."""
        return list(self.world.rows.store.values())

    def texts(self) -> list[str]:
        """The texts of the rows, sorted."""
        return sorted(row["text"] for row in self.rows())

    def records(self) -> dict[str, Any]:
        """Which documents the record manager knows, with their sources."""
        records = self.world.record_manager.records
        return {key: record["group_id"] for key, record in records.items()}
