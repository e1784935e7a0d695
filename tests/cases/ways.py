"""Every way to bring documents in, over the life of a corpus that an indexing pattern keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from langchain_core.documents import Document

from langchain_rag.testing import Driver, ScriptedTransformer
from tests.cases.patterns import Pattern
from tests.scattered import Scattered

Corpus: TypeAlias = dict[str, list[list[str]]]
"""By the id of a document its paragraphs, which are lists of sentences."""

WAYS: Final = ("add_documents", "rag.index", "index")

BEFORE: Final[Corpus] = {
    "a": [
        ["Euler was born in Basel.", "He went blind.", "He wrote on all the same."],
        ["He died in 1783.", "Laplace read him.", "So did all others.", "And we do."],
    ],
    "b": [["Gauss was a prodigy.", "He added up to a hundred."], ["Then he proved much more."]],
    "c": [["Noether proved a theorem.", "It is about symmetry.", "Physics stands on it."]],
}
"""The corpus at first."""

EDITED: Final[Corpus] = {
    **BEFORE,
    "a": [
        BEFORE["a"][0],
        ["He died in 1783.", "Everybody read him.", "So did all others.", "And we do."],
    ],
}
"""One sentence of one paragraph of one document is another."""

AFTER: Final[Corpus] = {"a": EDITED["a"], "c": BEFORE["c"]}
"""One document is gone, too."""


class _Paragraphs(ScriptedTransformer):
    fingerprint = "paragraphs"


PARAGRAPHS: Final = _Paragraphs(lambda text: text.split("\n\n"))


def text_of(paragraphs: list[list[str]]) -> str:
    """The text of a document."""
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs)


def documents(corpus: Corpus) -> list[Document]:
    """The documents of a corpus."""
    return [
        Document(text_of(paragraphs), id=id_, metadata={"source": id_})
        for id_, paragraphs in corpus.items()
    ]


class Life(Pattern):
    """A pattern whose corpus comes and changes in one of the ways.

    Attributes:
        way: One of `WAYS`.
        embeddings: By which no two texts are equally near.
    """

    def __init__(
        self, driver: Driver, way: str, transformers: Callable[[], dict[str, Any]]
    ) -> None:
        self.way = way
        self.embeddings = Scattered(16)
        super().__init__(driver, lambda _: "nobody asks", lambda _llm: transformers())
        self.world.embeddings = self.embeddings
        self.world.rows.embedding = self.embeddings
        self._there: set[str] = set()

    async def become(self, corpus: Corpus) -> None:
        """Let the store hold a corpus and nothing else."""
        docs = documents(corpus)
        rag = self.start()
        if self.way == "index":
            await self.driver.index(docs, cleanup="full", **self.world.index_kwargs(rag))
        elif self.way == "rag.index":
            await self.driver(rag, "index", docs, cleanup="full", allow_empty=not docs)
        else:
            await self.driver(rag, "add_documents", docs)
            gone = sorted(self._there - corpus.keys())
            if gone:
                assert await self.driver(rag, "delete", gone)
        self._there = set(corpus)

    @property
    def is_incremental(self) -> bool:
        """Whether a changed document keeps its id; LangChain's `index` gives it a new one."""
        return self.way != "index"
