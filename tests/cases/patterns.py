"""A store with an indexing pattern, whose rows are compared with a plain reference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore

from langchain_rag._reserved import DOCUMENT, KIND
from langchain_rag.document_transformers import ByteStoreVariationCache
from langchain_rag.testing import (
    MOMENTS,
    Driver,
    InjectedCrash,
    InjectedFault,
    ScriptedChatModel,
    World,
    audit,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore

Row: TypeAlias = tuple[str, str]
"""Kind and text of a variation."""

Step: TypeAlias = Callable[[RAGVectorStore], Awaitable[Any]]


class Pattern:
    """Stores that stay, a model that counts, and a new process for each step.

    Attributes:
        driver: Calls the methods, or their twins.
        world: The stores.
        llm: The model.
        answers: What the variation cache is in.
        rag: The process that runs now.
    """

    def __init__(
        self,
        driver: Driver,
        answer: Callable[[str], str],
        transformers: Callable[[ScriptedChatModel], dict[str, Any]],
    ) -> None:
        self.driver = driver
        self.world = World()
        self.llm = ScriptedChatModel(answer=answer)
        self.answers = InMemoryByteStore()
        self._transformers = transformers
        self.rag = self.start()

    def start(self, **options: Any) -> RAGVectorStore:
        """Start a process."""
        options = {
            "record_manager": self.world.record_manager,
            "variation_cache": ByteStoreVariationCache(self.answers),
            **self._transformers(self.llm),
            **options,
        }
        self.rag = self.world.start(**options)
        return self.rag

    async def index(self, documents: list[Document], **options: Any) -> Any:
        """Run `rag.index()` in a new process, and look whether the stores are sound."""
        report = await self.driver(self.start(), "index", documents, **options)
        assert audit(self.rag) == []
        return report

    def forget(self) -> None:
        """Set all counts back."""
        self.llm.reset()
        self.world.embeddings.reset()
        self.world.plan.forget()

    def spent(self) -> tuple[int, int]:
        """Calls of the model and embedded texts since `forget`."""
        return self.llm.calls, len(self.world.embeddings.documents)

    def rows(self) -> list[Row]:
        """What the wrapped store holds."""
        found = contents(self.rag, copy=False).rows.values()
        return sorted((row.metadata[KIND], row.page_content) for row in found)

    def chunks(self) -> list[str]:
        """Texts of the chunks that the docstore holds."""
        chunks = contents(self.rag, copy=False).room("chunks").values()
        return sorted(chunk.page_content for chunk in chunks)

    async def check(self, rows: list[Row], chunks: list[str]) -> None:
        """Both stores hold this and nothing else, and the store says so too."""
        assert self.rows() == sorted(rows)
        assert self.chunks() == sorted(chunks)
        assert audit(self.rag) == []
        report = await self.driver(self.start(), "verify")
        assert report.ok, str(report)

    async def check_faults(self, step: Step, *, in_place: bool = False) -> int:
        """Interrupt a step at every write to the stores; returns at how many places.

        At every moment a document has its old rows or its new ones (where rows are written
        over `in_place`, of each the old one or the new one), and when the step was made
        again, the stores are as if nothing had happened.
        """
        saved, answers = self.world.save(), dict(self.answers.store)
        old = self._by_document()
        await step(self.start())
        wanted, new = contents(self.rag), self._by_document()
        for flavour in (InjectedFault, InjectedCrash):
            for number in count(1):
                for moment in MOMENTS:
                    self.world.load(saved)
                    self.answers.store = dict(answers)
                    self.world.plan.forget()
                    self.start()
                    self.world.plan.arm(number, moment, flavour)
                    try:
                        await step(self.rag)
                    except flavour:
                        pass
                    else:
                        break
                    where = f"{flavour.__name__} {moment} call {number}"
                    assert audit(self.rag, settled=False) == [], where
                    now = self._by_document()
                    for name in old.keys() | new.keys():
                        rows = now.get(name, set())
                        before, after = old.get(name, set()), new.get(name, set())
                        if in_place:
                            assert rows <= before | after, where
                            assert len(rows) == len(before), where
                        else:
                            assert rows >= before or rows >= after, where
                    await step(self.start() if flavour is InjectedCrash else self.rag)
                    assert audit(self.rag) == [], where
                    assert contents(self.rag).rows == wanted.rows, where
                else:
                    continue
                break
        self.world.plan.restart()
        return number

    def _by_document(self) -> dict[str, set[Row]]:
        found: dict[str, set[Row]] = {}
        for row in contents(self.rag, copy=False).rows.values():
            rows = found.setdefault(row.metadata[DOCUMENT], set())
            rows.add((row.metadata[KIND], row.page_content))
        return found


def page(name: str, *lines: str, id_: str | None = None, **metadata: Any) -> Document:
    """A document of a source, whose lines become its chunks."""
    text = "\n".join(f"{name} {line}" for line in lines)
    return Document(text, id=id_, metadata={"source": name, **metadata})
