"""A record manager that vouches only for documents that are stored."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.indexing import RecordManager
from typing_extensions import override

from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.write import Lifecycle


class StoredRecordManager(RecordManager):
    """Puts what is stored beside what LangChain's `index()` has noted.

    `index()` deletes a document from the store before it deletes its record. Interrupted in
    between, it would skip the document ever after, since its record says that it is there.
    This manager answers that a document exists only where it has both, a record and a
    manifest. Being asked first, it also sweeps what an earlier call left, so that a run that
    skips everything clears it too.

    All else is left to the record manager that it wraps.

    Args:
        records: The record manager to wrap.
        lifecycle: Where the documents are.
    """

    def __init__(self, records: RecordManager, lifecycle: Lifecycle) -> None:
        super().__init__(records.namespace)
        self.records = records
        self._lifecycle = lifecycle

    @classmethod
    def over(cls, records: RecordManager | None, lifecycle: Lifecycle) -> StoredRecordManager:
        """Wrap a record manager, if one is known.

        Args:
            records: The record manager to wrap.
            lifecycle: Where the documents are.

        Raises:
            ConfigurationError: None is known.
        """
        if records is None:
            message = (
                "index() needs a record manager and none is known: give one to index_kwargs() "
                "or to the constructor, or make the store with from_vs_in_sql()."
            )
            raise ConfigurationError(message)
        return cls(records, lifecycle)

    def _exists(self, keys: Sequence[str]) -> Flow[list[bool]]:
        stored = yield from self._lifecycle.stored(keys)
        recorded = yield from call(self.records.exists, self.records.aexists, keys)
        return [one and other for one, other in zip(stored, recorded, strict=True)]

    @override
    def exists(self, keys: Sequence[str]) -> list[bool]:
        return run(self._exists(keys))

    @override
    async def aexists(self, keys: Sequence[str]) -> list[bool]:
        return await arun(self._exists(keys))

    @override
    def create_schema(self) -> None:
        self.records.create_schema()

    @override
    async def acreate_schema(self) -> None:
        await self.records.acreate_schema()

    @override
    def get_time(self) -> float:
        return self.records.get_time()

    @override
    async def aget_time(self) -> float:
        return await self.records.aget_time()

    @override
    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        self.records.update(keys, group_ids=group_ids, time_at_least=time_at_least)

    @override
    async def aupdate(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        await self.records.aupdate(keys, group_ids=group_ids, time_at_least=time_at_least)

    @override
    def list_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        return self.records.list_keys(
            before=before, after=after, group_ids=group_ids, limit=limit
        )

    @override
    async def alist_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        return await self.records.alist_keys(
            before=before, after=after, group_ids=group_ids, limit=limit
        )

    @override
    def delete_keys(self, keys: Sequence[str]) -> None:
        self.records.delete_keys(keys)

    @override
    async def adelete_keys(self, keys: Sequence[str]) -> None:
        await self.records.adelete_keys(keys)


def checked_record_manager(record_manager: object) -> RecordManager | None:
    """Refuse what is no record manager, and unwrap the one of `index_kwargs`.

    Args:
        record_manager: As in the constructor of `RAGVectorStore`.

    Returns:
        The one that knows what `index()` noted, and nothing else.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(record_manager, StoredRecordManager):
        return record_manager.records
    if not isinstance(record_manager, RecordManager | None):
        message = (
            f"record_manager is a {type(record_manager).__name__}; it must be a langchain_core "
            "RecordManager, or None."
        )
        raise ConfigurationError(message)
    return record_manager
