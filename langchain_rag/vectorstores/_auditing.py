"""Checking what is stored, repairing it, counting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.indexing import RecordManager

from langchain_rag._flow import Flow, arun, run
from langchain_rag.vectorstores._base import BaseRAGVectorStore, checked_record_manager

if TYPE_CHECKING:
    from langchain_rag.audit import RepairReport, StatsReport, VerifyReport
    from langchain_rag.audit.looking import Parts


class AuditingMixin(BaseRAGVectorStore):
    """The methods of `RAGVectorStore` that look at all that is stored."""

    def verify(self, *, record_manager: RecordManager | None = None) -> VerifyReport:
        """Check that both stores, and what `index()` noted, agree.

        Reads every record of the namespace, changes nothing, and may run while documents are
        written: what looks wrong is looked at twice, and documents that a call is writing are
        left out.

        Args:
            record_manager: What `index()` notes in; by default the constructor's.

        Returns:
            What is wrong; it prints as a table.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.stores import InMemoryStore
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> from langchain_rag import RAGVectorStore
            >>> vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
            >>> rag = RAGVectorStore(
            ...     vectorstore=vectors, docstore=InMemoryStore(), source_id_key=None
            ... )
            >>> rag.add_texts(["Euclid wrote the Elements"], ids=["euclid"])
            ['euclid']
            >>> rag.verify().ok
            True
            >>> vectors.store.clear()
            >>> [(finding.kind.value, finding.document_id) for finding in rag.verify().findings]
            [('missing row', 'euclid')]
            >>> report = rag.repair()
            >>> report.rows_written, report.llm_calls, rag.verify().ok
            (1, 0, True)
        """
        return run(self._verify(record_manager))

    async def averify(self, *, record_manager: RecordManager | None = None) -> VerifyReport:
        """Check what is stored; see `verify`."""
        return await arun(self._verify(record_manager))

    def repair(
        self, *, record_manager: RecordManager | None = None, unknown_rows: bool = False
    ) -> RepairReport:
        """Repair what `verify` finds, without a call of a model.

        Missing rows are embedded again from the stored texts, and what belongs to no document
        goes. Where a text is lost, the chunk is taken out, and the next import of its
        document makes that chunk again; `index()` does so by itself. Documents of foreign
        fingerprints stay as they are.

        Rows of documents of which the docstore knows nothing are left, and reported: another
        database may use the same collection with the same namespace. They are also what is
        left of texts that changed after a docstore was lost: `index()` gives a changed text
        another id, so the old id is unknown to the new docstore.

        It may be interrupted and repeated, and may run while other documents are written.

        Args:
            record_manager: What `index()` notes in; by default the constructor's.
            unknown_rows: Whether to delete these rows too. Only for a collection, or a
                namespace of it, that no other database uses.

        Returns:
            What was done; it prints as a table.

        Raises:
            StoreError: A store did not do what its contract says.
        """
        return run(self._repair(record_manager, unknown_rows))

    async def arepair(
        self, *, record_manager: RecordManager | None = None, unknown_rows: bool = False
    ) -> RepairReport:
        """Repair what is stored; see `repair`."""
        return await arun(self._repair(record_manager, unknown_rows))

    def stats(self) -> StatsReport:
        """Count documents, chunks, variations and rows.

        Returns:
            The numbers; they print as a table.
        """
        return run(self._stats())

    async def astats(self) -> StatsReport:
        """Count what is stored; see `stats`."""
        return await arun(self._stats())

    def _verify(self, record_manager: RecordManager | None) -> Flow[VerifyReport]:
        from langchain_rag.audit.verify import verify  # noqa: PLC0415 - seldom needed

        return verify(self._parts(record_manager))

    def _repair(
        self, record_manager: RecordManager | None, unknown_rows: bool
    ) -> Flow[RepairReport]:
        from langchain_rag.audit.repair import repair  # noqa: PLC0415 - seldom needed

        return repair(self._parts(record_manager), unknown_rows=unknown_rows)

    def _stats(self) -> Flow[StatsReport]:
        from langchain_rag.audit.stats import stats  # noqa: PLC0415 - seldom needed

        return stats(self._parts(None))

    def _parts(self, record_manager: RecordManager | None) -> Parts:
        from langchain_rag.audit.looking import Parts  # noqa: PLC0415 - seldom needed

        given = checked_record_manager(record_manager)
        return Parts(self._lifecycle, given or self.record_manager)
