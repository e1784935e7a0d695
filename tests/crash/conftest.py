"""The changes that are interrupted, and the check of what an interruption leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.testing import (
    Contents,
    Driver,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore

Step: TypeAlias = Callable[["Lab"], Awaitable[Any]]


def page(text: str, source: str, **metadata: Any) -> Document:
    """A document whose lines become its chunks; each begins with the page's letter."""
    return Document(text, metadata={"source": source, **metadata})


def shapes() -> dict[str, dict[str, Any]]:
    """Pairs of transformers: without, with a fingerprint, and without one."""
    words = CharacterTextSplitter(separator=" ", chunk_size=6, chunk_overlap=0)
    return {
        "plain": {},
        "splitters": {
            "parent_transformer": RecursiveCharacterTextSplitter(
                separators=["\n"], chunk_size=12, chunk_overlap=0, keep_separator=False
            ),
            "chunk_transformer": CopyDocumentTransformer() + words,
        },
        # Nothing says that it is the same function as last time, so everything is made anew
        # each time, and what is live is written over in place.
        "nameless": {
            "parent_transformer": ScriptedTransformer(str.splitlines),
            "chunk_transformer": ScriptedTransformer(lambda text: [text, *text.split()]),
        },
    }


class Lab:
    """A world, the process that runs in it now, and what it should come to."""

    def __init__(self, driver: Driver, shape: str) -> None:
        self.driver = driver
        self.options = shapes()[shape]
        self.world = World()
        self.plan = self.world.plan
        self.rag: RAGVectorStore
        self.old: dict[str, set[tuple[str, str, str]]]
        self.new: dict[str, set[tuple[str, str, str]]]
        self.expected: tuple[Contents, set[str]]

    async def start(self) -> None:
        """Start a process, one that has already looked for what others left."""
        self.rag = self.world.start(**self.options)

    async def warm_up(self) -> None:
        await self.driver(self.rag, "delete", ["never there"])
        self.plan.forget()

    async def prepare(self, before: Step, change: Step) -> None:
        """Find out what the change does when nothing fails, and go back to before it."""
        await self.start()
        await before(self)
        assert audit(self.rag) == []
        self.saved = self.world.save()
        self.old = self.found()
        await change(self)
        assert audit(self.rag) == []
        self.expected = self.state()
        self.new = self.found()
        self.back()

    def back(self) -> None:
        self.world.load(self.saved)
        self.plan.restart()
        self.plan.forget()

    def found(self) -> dict[str, set[tuple[str, str, str]]]:
        """What can be found, by the letter of its page."""
        found: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
        for row in reachable(self.rag):
            found[row[1][0]].add(row)
        return found

    def state(self, *, copy: bool = True) -> tuple[Contents, set[str]]:
        found = contents(self.rag, copy=copy)
        # How often a document was written, a retry may change.
        records = {key: _without_revision(value) for key, value in found.records.items()}
        return Contents(found.rows, records), set(self.world.record_manager.records)

    async def interrupted(self, step: Step, flavour: type[BaseException]) -> bool:
        """Run a step, and say whether a fault struck; it must not be swallowed."""
        seen = self.plan.armed
        try:
            await step(self)
        except flavour:
            return True
        assert self.plan.armed == seen, "a fault struck, and the call said nothing"
        return False

    def check_at_once(self) -> None:
        """I1 to I3, without any call to the store."""
        assert audit(self.rag, settled=False) == []
        found = self.found()
        for letter in self.old.keys() | self.new.keys():
            old, new = self.old.get(letter, set()), self.new.get(letter, set())
            assert old <= found[letter] or new <= found[letter], f"page {letter} is not whole"

    async def check_search(self) -> None:
        """I2 as a user sees it, and nothing twice."""
        results = await self.driver(self.rag, "similarity_search", "alpha", k=100)
        # In between, both versions of a whole document may be found, under its one id.
        assert len({(result.id, result.page_content) for result in results}) == len(results)
        texts = {result.page_content for result in results}
        for letter in self.old.keys() | self.new.keys():
            old = {text for _, text, _ in self.old.get(letter, set())}
            new = {text for _, text, _ in self.new.get(letter, set())}
            assert old <= texts or new <= texts, f"a search does not find page {letter} whole"

    def check_settled(self) -> None:
        """I1 to I4, and the same as if nothing had failed."""
        assert audit(self.rag) == []
        assert self.state(copy=False) == self.expected


def _without_revision(record: Document) -> Document:
    if "revision" not in record.metadata:
        return record
    metadata = {k: v for k, v in record.metadata.items() if k != "revision"}
    return Document(record.page_content, metadata=metadata)


@dataclass(frozen=True)
class Scenario:
    """A state, and a change that starts from it.

    Attributes:
        before: Makes the state.
        change: Is interrupted, and repeated.
        other: A later version of the same, which the user imports instead of repeating.
    """

    before: Step
    change: Step
    other: Step


def adding(documents: dict[str, Document], **options: Any) -> Step:
    async def step(lab: Lab) -> None:
        ids = list(documents)
        docs = list(documents.values())
        returned = await lab.driver(lab.rag, "add_documents", docs, ids=ids, **options)
        assert returned == ids

    return step


def deleting(ids: list[str] | None) -> Step:
    async def step(lab: Lab) -> None:
        assert await lab.driver(lab.rag, "delete", ids) is True

    return step


def indexing(documents: list[Document], cleanup: str, batch_size: int) -> Step:
    async def step(lab: Lab) -> None:
        await lab.driver.index(
            documents,
            cleanup=cleanup,
            batch_size=batch_size,
            **lab.world.index_kwargs(lab.rag),
        )

    return step


async def nothing(_: Lab) -> None:
    """An empty store."""


A = page("a1 alpha\na2 beta\na3 gamma", "one")
A2 = page("a1 alpha\na3 gamma\na4 delta\na4 delta", "one")
A3 = page("a5 omega\na3 gamma", "one")
A_REV = page(A.page_content, "one", rev=2)
B = page("b1 alpha\nb2 beta", "one")
B2 = page("b3 alpha", "one")
C = page("c1 alpha\nc2 beta", "two")
EMPTY = page("", "one")
D = page("d1 alpha", "one")

ABC = {"a": A, "b": B, "c": C}
AB2 = {"a": A2, "b": B2}

SCENARIOS: dict[str, Scenario] = {
    "add": Scenario(nothing, adding({"a": A, "b": B}), adding({"a": A3, "b": B2})),
    "update": Scenario(adding(ABC), adding(AB2), adding({"a": A3, "b": EMPTY})),
    "update in batches of 1": Scenario(
        adding(ABC), adding(AB2, batch_size=1), adding({"a": A3, "b": EMPTY})
    ),
    "change metadata": Scenario(
        adding(ABC), adding({"a": A_REV}), adding({"a": A2, "b": EMPTY})
    ),
    "shrink to blank": Scenario(
        adding(ABC), adding({"a": EMPTY, "b": B2}), adding({"a": A3, "b": B})
    ),
    "delete": Scenario(adding(ABC), deleting(["a", "b"]), adding({"a": A2, "b": B})),
    "delete all": Scenario(adding(ABC), deleting(None), deleting(["c", "b", "a"])),
    **{
        f"index {cleanup}": Scenario(
            indexing([A, B, C], cleanup, 10),
            # A changed, B removed, C as it was, D new; the source spans batches, except
            # where LangChain would delete what the next batch brings back.
            indexing([A2, C, D], cleanup, 10 if cleanup == "incremental" else 2),
            indexing([A3, C], cleanup, 10),
        )
        for cleanup in ("scoped_full", "incremental", "full")
    },
}


@pytest.fixture(params=list(SCENARIOS))
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return SCENARIOS[request.param]


@pytest.fixture
def shape() -> str:
    return "splitters"


@pytest.fixture
async def lab(driver: Driver, shape: str, scenario: Scenario) -> Lab:
    lab = Lab(driver, shape)
    await lab.prepare(scenario.before, scenario.change)
    return lab
