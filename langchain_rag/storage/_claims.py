"""Claims on documents that hold across processes.

A claim is a row for each document that names its writer. Who finds one looks whether the
writer is still there (`langchain_rag.storage._presence`), and takes the document over if it is
not. Each write looks in its own transaction whether the rows are still the writer's, so that
one who was taken for dead, since its connection broke, writes nothing more: the row is a
fencing token (Kleppmann, "How to do distributed locking", 2016).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select

from langchain_rag._flow import Flow, arun, call, call_as, run
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.storage import _docstore_statements as statements
from langchain_rag.storage._presence import presence_of
from langchain_rag.storage._schema import CLAIMS, among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.documents import Document
    from sqlalchemy import Column, ColumnElement, Connection

    from langchain_rag.storage._database import Database
    from langchain_rag.storage._full_text import FullTextIndex
    from langchain_rag.storage._presence import Presence


class _UnseenError(Exception):
    """Others would take the writer for gone."""


class SQLClaim:
    """The right of one call to write some documents of a `SQLDocStore`.

    Args:
        database: Where the docstore is.
        namespace: Of the docstore.
        documents: What to call each document in an error, by the key that stands for it.
        index: The docstore's full-text index.

    Attributes:
        writer: A token that no other claim has, once it is acquired.
    """

    def __init__(
        self,
        database: Database,
        namespace: str,
        documents: Mapping[str, str],
        index: FullTextIndex,
    ) -> None:
        self.writer = ""
        self._database = database
        self._namespace = namespace
        self._documents = dict(documents)
        self._index = index
        self._presence: Presence | None = None

    def acquire(self) -> None:
        """Claim all of the documents or none.

        Raises:
            ConcurrentWriteError: A writer that is still there has claimed one of them.
        """
        run(self._acquire())

    async def aacquire(self) -> None:
        """Claim all of the documents or none; see `acquire`."""
        await arun(self._acquire())

    def confirm(self) -> None:
        """Make sure that the documents are still this claim's.

        Raises:
            ConcurrentWriteError: Another writer took one over.
        """
        self._database.run(self._check)

    async def aconfirm(self) -> None:
        """Make sure that the documents are still this claim's; see `confirm`."""
        await self._database.arun(self._check)

    def mset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write documents, as `SQLDocStore.mset` does.

        Raises:
            ConcurrentWriteError: The claim was lost; nothing is written.
        """
        self._database.run(self._set(key_value_pairs), write=True)

    async def amset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write documents; see `mset`."""
        await self._database.arun(self._set(key_value_pairs), write=True)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete documents, as `SQLDocStore.mdelete` does.

        Raises:
            ConcurrentWriteError: The claim was lost; nothing is deleted.
        """
        self._database.run(self._delete(keys), write=True)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Delete documents; see `mdelete`."""
        await self._database.arun(self._delete(keys), write=True)

    def release(self) -> None:
        """Give the documents back."""
        run(self._release())

    async def arelease(self) -> None:
        """Give the documents back."""
        await arun(self._release())

    def abandon(self) -> None:
        """Leave the rows to whoever finds that their writer is there no more."""
        if self._presence is not None:
            self._presence.abandon()

    def _acquire(self) -> Flow[None]:
        presence = yield from presence_of(self._database)
        self._presence = presence
        try:
            self.writer = yield from presence.enter()
            yield from self._write(partial(self._take, presence))
        except _UnseenError:
            # The connection that stood for this process broke since the last write.
            yield from presence.renew()
            self.writer = yield from presence.enter()
            yield from self._write(partial(self._take, presence))

    def _release(self) -> Flow[None]:
        if self._presence is None:
            return
        try:
            yield from self._write(self._give_back)
        finally:
            yield from self._presence.leave()

    def _write(self, body: Callable[[Connection], None]) -> Flow[None]:
        # No claim outlives the machine or the server: its holder's lock does not either.
        database = self._database.without_waiting()
        yield from call_as("to_its_end", database.run, database.arun, body, write=True)

    def _give_back(self, connection: Connection) -> None:
        connection.execute(delete(CLAIMS).where(*self._mine()))

    def _set(self, pairs: Sequence[tuple[str, Document]]) -> Callable[[Connection], None]:
        documents = dict(pairs)
        body = statements.write(self._namespace, documents)
        return self._guarded(self._index.writing(documents, body))

    def _delete(self, keys: Sequence[str]) -> Callable[[Connection], None]:
        body = statements.delete_keys(self._namespace, keys)
        return self._guarded(self._index.deleting(keys, body))

    def _guarded(self, body: Callable[[Connection], None]) -> Callable[[Connection], None]:
        def guarded(connection: Connection) -> None:
            self._check(connection)
            body(connection)

        return guarded

    def _check(self, connection: Connection) -> None:
        # Shared locks: who would take a document over waits until this write is done.
        query = select(CLAIMS.c.key).where(*self._mine()).with_for_update(read=True)
        lost = self._documents.keys() - set(connection.scalars(query))
        if lost:
            names = ", ".join(repr(self._documents[key]) for key in sorted(lost)[:5])
            message = (
                f"The claim on {names} was lost: the connection to the database that stood for "
                "it broke, and another writer took over. Nothing more was written; make the "
                "call again, and look with verify() for rows that were left."
            )
            raise ConcurrentWriteError(message)

    def _mine(self) -> tuple[ColumnElement[bool], ...]:
        return CLAIMS.c.namespace == self._namespace, CLAIMS.c.writer == self.writer

    def _take(self, presence: Presence, connection: Connection) -> None:
        """Write the claim's rows, over those of writers who are gone."""
        if not presence.is_well(connection):
            raise _UnseenError
        # Sorted, so that two claims never wait for each other in a ring.
        missing: list[str] = sorted(self._documents)
        while missing:
            connection.execute(
                upsert(connection, CLAIMS).on_conflict_do_nothing(),
                [
                    {"namespace": self._namespace, "key": key, "writer": self.writer}
                    for key in missing
                ],
            )
            holders = self._holders(connection, missing)
            others = sorted({*holders.values()} - {self.writer})
            for other in others:
                if not presence.has_left(connection, other):
                    key = next(key for key, writer in holders.items() if writer == other)
                    raise ConcurrentWriteError.about(self._documents[key])
            if others:
                # All that they held: nobody else will ever give it back.
                connection.execute(
                    delete(CLAIMS).where(*self._among(connection, CLAIMS.c.writer)),
                    {"these": listed(connection.dialect.name, others)},
                )
            # A row that was in the way may be given back before it is looked at.
            missing = [key for key in missing if holders.get(key) != self.writer]

    def _holders(self, connection: Connection, keys: Sequence[str]) -> dict[str, str]:
        """Return who holds which document, and let nobody change it meanwhile."""
        query = select(CLAIMS.c.key, CLAIMS.c.writer).order_by(CLAIMS.c.key)
        rows = connection.execute(
            query.where(*self._among(connection, CLAIMS.c.key)).with_for_update(),
            {"these": listed(connection.dialect.name, keys)},
        )
        return {key: writer for key, writer in rows}  # noqa: C416 - typed rows

    def _among(
        self, connection: Connection, column: Column[str]
    ) -> tuple[ColumnElement[bool], ...]:
        condition = among(connection.dialect.name, column, "these")
        return CLAIMS.c.namespace == self._namespace, condition


def claimed(database: Database, namespace: str, keys: Sequence[str]) -> Flow[list[bool]]:
    """Say of each document whether a writer that is still there has claimed it. Reads only.

    Args:
        database: Where the docstore is.
        namespace: Of the docstore.
        keys: The keys that stand for the documents.
    """
    presence = yield from presence_of(database)

    def body(connection: Connection) -> list[bool]:
        dialect = connection.dialect.name
        query = select(CLAIMS.c.key, CLAIMS.c.writer).where(
            CLAIMS.c.namespace == namespace, among(dialect, CLAIMS.c.key, "these")
        )
        rows = connection.execute(query, {"these": listed(dialect, keys)}).all()
        here = {writer: not presence.has_left(connection, writer) for _, writer in rows}
        held = {key for key, writer in rows if here[writer]}
        return [key in held for key in keys]

    held: Any = yield from call(database.run, database.arun, body)
    return list[bool](held)
