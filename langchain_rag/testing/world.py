"""What outlives a process: two stores and a record manager, in memory.

Example:
    >>> from langchain_core.documents import Document
    >>> from langchain_rag.testing import InjectedCrash, World, audit
    >>> world = World()
    >>> rag = world.start(source_id_key=None)
    >>> world.plan.arm(3, "inside", InjectedCrash)
    >>> try:
    ...     rag.add_documents([Document("a"), Document("b")], ids=["1", "2"])
    ... except InjectedCrash as crash:
    ...     print(crash)
    injected inside call 3: add_documents of 2
    >>> rag = world.start(source_id_key=None)
    >>> rag.add_documents([Document("c")], ids=["3"])
    ['3']
    >>> audit(rag), [row["text"] for row in world.rows.store.values()]
    ([], ['c'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.storage import InMemoryRecordManager
from langchain_rag.testing.fakes import CountingEmbeddings
from langchain_rag.testing.faults import FaultPlan
from langchain_rag.testing.faulty import FaultyDocStore, FaultyVectorStore
from langchain_rag.vectorstores import RAGVectorStore

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["World"]


class World:
    """Stores that stay while the processes that use them come and go.

    Attributes:
        plan: What fails, for every process.
        embeddings: Counts what is embedded.
        rows: The vector store that is wrapped.
        docs: The docstore.
        record_manager: For `index()`. It never fails.
    """

    def __init__(self) -> None:
        self.plan = FaultPlan()
        self.embeddings = CountingEmbeddings()
        self.rows = InMemoryVectorStore(self.embeddings)
        self.docs = InMemoryStore()
        self.record_manager = InMemoryRecordManager("world")

    def start(self, **options: Any) -> RAGVectorStore:
        """Start a process, after the one before it has ended or crashed.

        Args:
            **options: Arguments of `RAGVectorStore` other than its stores.

        Returns:
            A store that has seen nothing yet.
        """
        self.plan.restart()
        return RAGVectorStore(
            vectorstore=FaultyVectorStore(self.rows, self.plan),
            docstore=FaultyDocStore(self.docs, self.plan),
            **options,
        )

    def index_kwargs(self, rag: RAGVectorStore) -> dict[str, Any]:
        """Return the arguments of `index()` that go with a store of this world."""
        return rag.index_kwargs(self.record_manager)

    def save(self) -> tuple[Mapping[str, Any], ...]:
        """Return a copy of everything, for `load`."""
        # Values are replaced in these stores, never changed, so they need no copy.
        stores = (self.rows.store, self.docs.store, self.record_manager.records)
        return tuple(dict(store) for store in stores)

    def load(self, saved: tuple[Mapping[str, Any], ...]) -> None:
        """Set everything back to what it was.

        Args:
            saved: What `save` returned; it may be loaded again and again.
        """
        rows, docs, records = saved
        self.rows.store = dict(rows)
        self.docs.store = dict(docs)
        self.record_manager.records = dict(records)
