"""A record manager for `index()` and `aindex()` in a SQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_classic.indexes import SQLRecordManager as _SQLRecordManager

from langchain_rag.errors import ConfigurationError
from langchain_rag.storage import _record_manager_statements as statements
from langchain_rag.storage._database import Database
from langchain_rag.storage.engine import AnyEngine, create_engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import URL, Connection


class SQLRecordManager(_SQLRecordManager):
    """LangChain's `SQLRecordManager` in its own table, with what `index()` needs of it.

    - The table is created by the first call; there is no need for `create_schema()`.
    - With a sync engine the async methods work too, in LangChain's executor, so that one
      manager serves `index()` and `aindex()`. With an async engine only the async ones do.
    - `update` without group ids keeps those that are stored. `index()` refreshes unchanged
      documents that way before it adds the changed ones; when that fails, LangChain's own
      has lost their source, and later clean-ups pass them over for good.
    - `get_time` is later than every stored time, and what is stored next is later still.
      SQLite's clock has milliseconds, and any clock may be set back: a run that began within
      the millisecond of the one before would take that one's records for its own, and leave
      what it should delete.
    - Any number of keys and group ids fits into one call.

    Args:
        namespace: Name of the records; those of other namespaces are not touched.
        engine: A sync or async engine, best from `langchain_rag.storage.create_engine`.
        db_url: In place of an engine: the URL to create one from.

    Raises:
        ConfigurationError: If both of engine and URL are given, or none.

    Example:
        >>> engine = create_engine("sqlite://")
        >>> manager = SQLRecordManager("docs", engine=engine)
        >>> manager.update(["a", "b"], group_ids=["euler.txt", "gauss.txt"])
        >>> manager.list_keys(group_ids=["euler.txt"])
        ['a']
        >>> engine.dispose()
    """

    def __init__(
        self,
        namespace: str,
        *,
        engine: AnyEngine | None = None,
        db_url: str | URL | None = None,
    ) -> None:
        if (engine is None) == (db_url is None):
            msg = "SQLRecordManager takes either an engine or a db_url: give one of the two."
            raise ConfigurationError(msg)
        statements.check_names(namespace)
        if engine is None:
            assert db_url is not None  # noqa: S101 - checked above
            engine = create_engine(db_url)
        super().__init__(namespace, engine=engine)
        self._database = Database(engine, statements.SCHEMA, type(self).__name__)

    def create_schema(self) -> None:
        """Create the table if it is missing, which the first call does as well."""
        self._database.run(_nothing)

    async def acreate_schema(self) -> None:
        """Create the table if it is missing, which the first call does as well."""
        await self._database.arun(_nothing)

    def get_time(self) -> float:
        """Return the database's time in seconds since 1970, later than any stored one."""
        return self._database.run(statements.next_time)

    async def aget_time(self) -> float:
        """Return the database's time in seconds since 1970, later than any stored one."""
        return await self._database.arun(statements.next_time)

    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """Write or refresh records.

        Args:
            keys: Their keys.
            group_ids: The source of each. Where there is none, a stored one is kept.
            time_at_least: The earliest time to store, from `get_time`.

        Raises:
            ValueError: If there is another number of group ids than of keys.
            InvalidDocumentError: If a key or group id cannot be stored.
        """
        body = statements.update(self.namespace, keys, group_ids, time_at_least)
        if keys:
            self._database.run(body, write=True)

    async def aupdate(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """Write or refresh records, as `update` does.

        Args:
            keys: Their keys.
            group_ids: The source of each. Where there is none, a stored one is kept.
            time_at_least: The earliest time to store, from `aget_time`.

        Raises:
            ValueError: If there is another number of group ids than of keys.
            InvalidDocumentError: If a key or group id cannot be stored.
        """
        body = statements.update(self.namespace, keys, group_ids, time_at_least)
        if keys:
            await self._database.arun(body, write=True)

    def exists(self, keys: Sequence[str]) -> list[bool]:
        """Say for each key whether there is a record of it.

        Args:
            keys: The keys.
        """
        return self._database.run(statements.exists(self.namespace, keys)) if keys else []

    async def aexists(self, keys: Sequence[str]) -> list[bool]:
        """Say for each key whether there is a record of it.

        Args:
            keys: The keys.
        """
        if not keys:
            return []
        return await self._database.arun(statements.exists(self.namespace, keys))

    def list_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """List keys, those refreshed longest ago first.

        Args:
            before: Only records refreshed before that time.
            after: Only records refreshed after that time.
            group_ids: Only records of these sources; None or empty for all, as LangChain's.
            limit: The most keys to list.
        """
        return self._database.run(
            statements.list_keys(self.namespace, before, after, group_ids, limit)
        )

    async def alist_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """List keys, as `list_keys` does.

        Args:
            before: Only records refreshed before that time.
            after: Only records refreshed after that time.
            group_ids: Only records of these sources; None or empty for all, as LangChain's.
            limit: The most keys to list.
        """
        return await self._database.arun(
            statements.list_keys(self.namespace, before, after, group_ids, limit)
        )

    def delete_keys(self, keys: Sequence[str]) -> None:
        """Delete records. Keys that are not there are passed over.

        Args:
            keys: Their keys.
        """
        if keys:
            self._database.run(statements.delete_keys(self.namespace, keys), write=True)

    async def adelete_keys(self, keys: Sequence[str]) -> None:
        """Delete records, as `delete_keys` does.

        Args:
            keys: Their keys.
        """
        if keys:
            await self._database.arun(statements.delete_keys(self.namespace, keys), write=True)


def _nothing(_connection: Connection) -> None:
    """A body for the sake of the schema, which is created before it."""
