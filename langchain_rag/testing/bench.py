"""A wrapped store under test, and what belongs around it.

Unlike `World`, it works over any store: what is in it is read through
`langchain_rag.backends`, or looked up by id where the store cannot list.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import run_in_executor
from langchain_core.stores import InMemoryStore

from langchain_rag._reserved import CHUNK
from langchain_rag.backends import backend_of
from langchain_rag.lifecycle.records import read_manifest
from langchain_rag.testing.fakes import ScriptedTransformer
from langchain_rag.testing.faults import FaultPlan
from langchain_rag.testing.faulty import FaultyDocStore, FaultyVectorStore
from langchain_rag.vectorstores import RAGVectorStore

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

    from langchain_rag.backends import Row
    from langchain_rag.testing.drivers import Driver
    from langchain_rag.testing.fakes import CountingEmbeddings

__all__ = ["Bench"]


class Bench:
    """A wrapped store, a docstore in memory, and the processes that use them.

    Args:
        store: The store to wrap.
        embeddings: Those that it was made with.
        driver: Calls methods, or their asynchronous twins.

    Attributes:
        docs: The docstore.
        plan: What fails in the processes that are started with `faulty=True`.
        rag: A process: one chunk a line, three variations a chunk, no sources.
    """

    def __init__(
        self, store: VectorStore, embeddings: CountingEmbeddings, driver: Driver
    ) -> None:
        self.store = store
        self.embeddings = embeddings
        self.driver = driver
        self.docs = InMemoryStore()
        self.plan = FaultPlan()
        self.rag = self.start()

    def start(self, *, faulty: bool = False, **options: Any) -> RAGVectorStore:
        """Start a process, after the one before it has ended or crashed.

        Args:
            faulty: Whether its writes fail as planned.
            **options: Arguments of `RAGVectorStore` other than its stores.

        Returns:
            A store that has seen nothing yet.
        """
        self.plan.restart()
        self.plan.forget()
        defaults: dict[str, Any] = {
            "source_id_key": None,
            "parent_transformer": ScriptedTransformer(lambda text: text.split("\n")),
            "chunk_transformer": ScriptedTransformer(
                lambda text: [f"{word} {text}" for word in ("alpha", "beta", "gamma")]
            ),
        }
        return RAGVectorStore(
            vectorstore=FaultyVectorStore(self.store, self.plan) if faulty else self.store,
            docstore=FaultyDocStore(self.docs, self.plan) if faulty else self.docs,
            **(defaults | options),
        )

    async def do(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of `rag`, or await its asynchronous twin.

        Args:
            method: Name of the synchronous method.
            *args: Positional arguments of either.
            **kwargs: Keyword arguments of either.
        """
        return await self.driver(self.rag, method, *args, **kwargs)

    async def found(self, query: str, k: int = 4, **options: Any) -> list[str]:
        """Return the texts of the chunks that a search finds.

        Args:
            query: What to search for.
            k: Chunks wanted.
            **options: Further arguments of the search.
        """
        chunks = await self.do("similarity_search", query, k=k, **options)
        return [chunk.page_content for chunk in chunks]

    def expected(self) -> set[str]:
        """Return the ids of the rows that the manifests name."""
        keys = [key for key in self.docs.yield_keys() if key.startswith("manifests/")]
        manifests = zip(keys, self.docs.mget(keys), strict=True)
        return {
            id_
            for key, value in manifests
            for entry in read_manifest(key, value).chunks
            for id_ in entry.variation_ids()
        }

    async def rows(self) -> list[Row] | None:
        """Return every row of the store, None where it cannot list them."""
        backend = backend_of(self.store)
        if backend.rows is None or not (backend.exists is None or backend.exists()):
            return None if backend.rows is None else []
        if backend.arows is not None and self.driver.name == "async":
            return [row async for row in backend.arows()]
        rows = backend.rows
        if self.driver.name == "sync":
            return list(rows())
        return await run_in_executor(None, lambda: list(rows()))

    async def problems(self) -> list[str]:
        """Compare the stores with the manifests, after a call that went well.

        Returns:
            One line for each row or record that is orphaned, lost or doubled.
        """
        expected = self.expected()
        left = [key for key in self.docs.yield_keys() if key.startswith("intents/")]
        problems = [f"{key}: a change that was not finished" for key in left]
        listed = await self.rows()
        if listed is None:
            found = await self.driver(self.store, "get_by_ids", sorted(expected))
            counts = Counter(str(document.id) for document in found)
        else:
            counts = Counter(id_ for id_, _ in listed)
            problems += self._astray(listed)
        problems += [f"row {id_} is lost" for id_ in expected - set(counts)]
        problems += [f"row {id_} is orphaned" for id_ in set(counts) - expected]
        return problems + [
            f"row {id_} is there {n} times" for id_, n in counts.items() if n > 1
        ]

    def _astray(self, rows: list[Row]) -> list[str]:
        chunks = {key.rpartition("/")[2] for key in self.docs.yield_keys(prefix="chunks/")}
        return [
            f"row {id_} names chunk {metadata.get(CHUNK)!r}, which is not in the docstore"
            for id_, metadata in rows
            if metadata.get(CHUNK) not in chunks
        ]
