"""One connection of each process to PostgreSQL, whose lock says that the process is there.

The server gives an advisory lock of a session back when the session ends, however that
happens: with the process, with its machine, with the network between. So a lock that is held
stands for a process that lives, also for one that is slow.

The connection is made by the first write through an engine, and closed by the engine's
`dispose()`. It is none of the pool's: a write may take minutes, and writes that wait for a
model must not keep each other's connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

from langchain_core.runnables import run_in_executor
from sqlalchemy import event, text

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from sqlalchemy import Connection, Engine
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_lock = threading.Lock()
_sessions: WeakKeyDictionary[Engine, Session] = WeakKeyDictionary()
_asessions: WeakKeyDictionary[Engine, dict[AbstractEventLoop, Future[Session]]] = (
    WeakKeyDictionary()
)
_tokens: set[tuple[int, str]] = set()
_all: WeakSet[Session] = WeakSet()
_of_parents: list[object] = []
"""Sessions of the process that this one was forked from. Closing them would be heard there."""


class Session:
    """A connection that holds a lock.

    Args:
        connection: The connection, which leaves its pool.

    Attributes:
        token: Names the session among all.
        process: The process that made it.
        aconnection: The connection as an asynchronous engine gave it.
    """

    def __init__(self, connection: Connection) -> None:
        self.token = uuid4().hex
        self.process = os.getpid()
        self.aconnection: AsyncConnection | None = None
        self._connection = connection
        self._socket = _socket_of(connection)
        _tokens.add((self.process, self.token))
        _all.add(self)
        connection.detach()
        lock = text("SELECT pg_advisory_lock(:key)")
        connection.execute(lock, {"key": lock_key(self.token)})
        connection.commit()  # the lock stays: it is the session's

    def close(self) -> None:
        """Close the connection, though its server may be gone.

        SQLAlchemy would first roll back, and leave the connection open where that fails; and
        it leaves it to the garbage collector to close psycopg's asynchronous ones.
        """
        self._socket = None  # its number is soon somebody else's
        with contextlib.suppress(Exception):
            driver: Any = self._connection.connection.dbapi_connection
            driver.close()
        with contextlib.suppress(Exception):
            self._connection.invalidate()
            self._connection.close()

    def sever(self) -> None:
        """Cut the connection without a word, where nobody can speak on it any more."""
        if self._socket is not None:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._socket)) as s:
                s.shutdown(socket.SHUT_RDWR)
        self._socket = None

    def leave_to_parent(self) -> None:
        """Let go of a fork's copy of the connection, which would outlive the parent's."""
        if self._socket is not None:
            # Something harmless in its place: whoever thinks it open may still close it.
            with contextlib.suppress(OSError), Path(os.devnull).open("rb") as nothing:
                os.dup2(nothing.fileno(), self._socket)


def is_there(connection: Connection, token: str) -> bool:
    """Say whether a session lives.

    Args:
        connection: Another connection to the same database, in a transaction.
        token: Of the session.
    """
    # Shared: two that look at the same time must not take each other for it.
    query = text("SELECT pg_try_advisory_xact_lock_shared(:key)")
    return not connection.scalar(query, {"key": lock_key(token)})


def is_ours(token: str) -> bool:
    """Say whether a session is, or was, one of this process.

    Args:
        token: Of the session.
    """
    return (os.getpid(), token) in _tokens


def lock_key(token: str) -> int:
    """Return 64 bits: the lock's name, among all that anybody uses in this database."""
    digest = hashlib.sha256(f"langchain-rag session {token}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def session_of(engine: Engine) -> Session:
    """Return the session of this process on an engine; the first call opens it.

    Args:
        engine: A sync engine.
    """
    with _lock:
        session = _sessions.get(engine)
    if session is not None and session.process == os.getpid():
        return session
    opened = Session(engine.connect())
    with _lock:
        session = _sessions.get(engine)
        if session is None or session.process != os.getpid():
            _of_parents.append(session)
            _sessions[engine] = opened
            _close_with(engine)
            return opened
    opened.close()  # another thread was faster
    return session


async def asession_of(engine: AsyncEngine) -> Session:
    """Return the session of this process and event loop on an engine.

    Args:
        engine: An async engine.
    """
    sync_engine = engine.sync_engine
    by_loop = _asessions.setdefault(sync_engine, {})
    loop = asyncio.get_running_loop()
    for other in [other for other in by_loop if other.is_closed()]:
        left = _opened(by_loop.pop(other))
        if left is not None:
            left.sever()  # its loop could close it, and is closed itself
    opening = by_loop.get(loop)
    if opening is None:
        # A task of its own: one caller's cancellation is none of the others'.
        opening = by_loop[loop] = asyncio.ensure_future(_open(engine))
        _close_with(sync_engine)
    try:
        return await asyncio.shield(opening)
    except BaseException:
        if opening.done() and _opened(opening) is None:
            by_loop.pop(loop, None)
        raise


def forget(session: Session) -> None:
    """Close a session that has broken, so that the next write opens another.

    Args:
        session: The session.
    """
    _drop(session)
    session.close()


async def aforget(session: Session) -> None:
    """Close a session that has broken; see `forget`."""
    _drop(session)
    if session.aconnection is None:
        await run_in_executor(None, session.close)
        return
    with contextlib.suppress(Exception):
        await session.aconnection.run_sync(lambda _: session.close())


def _drop(session: Session) -> None:
    with _lock:
        for engine in [engine for engine, one in _sessions.items() if one is session]:
            del _sessions[engine]
    for by_loop in list(_asessions.values()):
        for loop in [loop for loop, opening in by_loop.items() if _opened(opening) is session]:
            del by_loop[loop]


def _socket_of(connection: Connection) -> int | None:
    driver: Any = connection.connection.driver_connection
    with contextlib.suppress(Exception):
        if hasattr(driver, "fileno"):
            return int(driver.fileno())
        # asyncpg, which says it nowhere else
        return int(driver._transport.get_extra_info("socket").fileno())  # noqa: SLF001
    return None


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.Lock()
    for session in list(_all):
        if session.process != os.getpid():
            _of_parents.append(session)
            session.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


async def _open(engine: AsyncEngine) -> Session:
    connection = await engine.connect()
    session = await connection.run_sync(Session)
    session.aconnection = connection
    return session


def _opened(opening: Future[Session]) -> Session | None:
    if not opening.done() or opening.cancelled() or opening.exception():
        return None
    return opening.result()


def _close_with(engine: Engine) -> None:
    if not event.contains(engine, "engine_disposed", _close):
        event.listen(engine, "engine_disposed", _close)


def _close(engine: Engine) -> None:
    with _lock:
        session = _sessions.pop(engine, None)
    if session is not None and session.process == os.getpid():
        session.close()
    for opening in _asessions.pop(engine, {}).values():
        if (opened := _opened(opening)) is not None:
            opened.close()  # asynchronous, since AsyncEngine.dispose() is what we are in
