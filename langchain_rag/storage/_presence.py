"""How others know that the writer that holds a claim is still there.

No clock and no heartbeat: a lock of the operating system or of the database server, which
goes when its holder does, however that ends. A holder that is slow, or stopped for a while,
keeps its lock.

- PostgreSQL: an advisory lock of the process's session. (So a pooler in between must pool
  sessions, not transactions.)
- SQLite in a file: a lock on a file of the writer's own, in a folder beside the database.
- SQLite in memory: no other process can see it, so a set in this one will do.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary, finalize

from filelock import FileLock, Timeout
from langchain_core.runnables import run_in_executor
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag._flow import Flow, call, call_as
from langchain_rag.storage import _sessions
from langchain_rag.storage._failures import connecting

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langchain_rag.storage._database import Database
    from langchain_rag.storage._sessions import Session

_FOLDER = "-writers"
"""Added to the name of the database file."""

_here: WeakValueDictionary[tuple[int, str], ProcessPresence] = WeakValueDictionary()
"""Writers of this process. With its number, since a fork begins with a copy. Weakly, so that
one that was interrupted before it could leave is gone with its claim."""


class Presence(Protocol):
    """What others can see of a writer for as long as it lives."""

    def enter(self) -> Flow[str]:
        """Be there, and return the name that others know the writer by."""
        ...

    def leave(self) -> Flow[None]:
        """Be there no more. Leaving twice is no error."""
        ...

    def abandon(self) -> None:
        """Leave without waiting for anything."""

    def is_well(self, connection: Connection) -> bool:
        """Say whether others really see the writer."""
        ...

    def renew(self) -> Flow[None]:
        """Give up what others do not see any more; `enter` begins anew."""
        ...

    def has_left(self, connection: Connection, writer: str) -> bool:
        """Say whether another writer is there no more.

        Args:
            connection: In a transaction on the database.
            writer: The other writer.
        """
        ...


def presence_of(database: Database) -> Flow[Presence]:
    """Choose the presence that fits a database.

    Args:
        database: The database.

    Returns:
        A presence that has not been entered.
    """
    if database.engine.dialect.name == "postgresql":
        return SessionPresence(database)
    file = yield from call(database.run, database.arun, _main_file)
    return FilePresence(f"{file}{_FOLDER}") if file else ProcessPresence()


class ProcessPresence:
    """Presence in this process."""

    def __init__(self) -> None:
        self._writer = uuid4().hex

    def enter(self) -> Flow[str]:
        """Be there."""
        _here[os.getpid(), self._writer] = self
        yield from ()  # a flow, though nothing here has to be waited for
        return self._writer

    def leave(self) -> Flow[None]:
        """Be there no more."""
        self.abandon()
        yield from ()

    def abandon(self) -> None:
        """Be there no more."""
        _here.pop((os.getpid(), self._writer), None)

    def is_well(self, connection: Connection) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def renew(self) -> Flow[None]:
        """Do nothing."""
        yield from ()

    def has_left(self, connection: Connection, writer: str) -> bool:  # noqa: ARG002
        """Say whether another writer is there no more."""
        return (os.getpid(), writer) not in _here


class SessionPresence(ProcessPresence):
    """The process's session on PostgreSQL, and the calls in it that are under way.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._session: Session | None = None

    def enter(self) -> Flow[str]:
        """Open the process's session, if this is its first write."""
        session = yield from call_as("to_its_end", self._open, self._aopen)
        self._session = session
        self._writer = f"{session.token}:{uuid4().hex}"
        return (yield from super().enter())

    def is_well(self, connection: Connection) -> bool:
        """Say whether the session lives."""
        return self._session is not None and _sessions.is_there(connection, self._session.token)

    def renew(self) -> Flow[None]:
        """Close the session, which has broken."""
        self.abandon()
        if self._session is not None:
            yield from call_as("to_its_end", _sessions.forget, _sessions.aforget, self._session)

    def has_left(self, connection: Connection, writer: str) -> bool:
        """Say whether another writer's process is gone, or its call is over."""
        token = writer.partition(":")[0]
        if _sessions.is_ours(token):
            return super().has_left(connection, writer)
        return not _sessions.is_there(connection, token)

    def _open(self) -> Session:
        with connecting(self._database.sync_engine):
            return _sessions.session_of(self._database.sync_engine)

    async def _aopen(self) -> Session:
        engine = self._database.engine
        if isinstance(engine, AsyncEngine):
            with connecting(engine.sync_engine):
                return await _sessions.asession_of(engine)
        return await run_in_executor(None, self._open)


class FilePresence(ProcessPresence):
    """A lock on a file beside a SQLite database.

    Args:
        folder: Where the files of all writers are.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = Path(folder)
        self._lock = self._lock_of(self._writer)
        finalize(self, _remove_if_locked, self._lock)

    def enter(self) -> Flow[str]:
        """Make the file and lock it."""
        self._folder.mkdir(exist_ok=True)
        self._lock.acquire(blocking=False)
        yield from ()
        return self._writer

    def abandon(self) -> None:
        """Remove the file."""
        _remove_if_locked(self._lock)

    def has_left(self, connection: Connection, writer: str) -> bool:  # noqa: ARG002
        """Say whether another writer's file is gone, or left behind unlocked."""
        lock = self._lock_of(writer)
        if not Path(lock.lock_file).exists():
            return True
        try:
            lock.acquire(blocking=False)
        except (Timeout, PermissionError):  # who may only read cannot tell
            return False
        _remove(lock)
        return True

    def _lock_of(self, writer: str) -> FileLock:
        # Not thread-local: an async call ends on another thread than it began.
        return FileLock(self._folder / f"{writer}.lock", thread_local=False)


def _remove_if_locked(lock: FileLock) -> None:
    if lock.is_locked:
        _remove(lock)


def _remove(lock: FileLock) -> None:
    # Before it is unlocked: a file with this name is never made again.
    with contextlib.suppress(PermissionError):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _main_file(connection: Connection) -> str:
    """Ask SQLite for its file, which the URL may name in more ways than one."""
    rows: Any = connection.exec_driver_sql("PRAGMA database_list")
    return next((str(row[2] or "") for row in rows if row[1] == "main"), "")
