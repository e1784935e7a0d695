"""Stores that can be set back to what they were, so that each point starts from the same."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import psycopg
from sqlalchemy import make_url

from tests.crash.killing.sites import TABLE, VECTOR_SIZE, Place

if TYPE_CHECKING:
    from psycopg import Connection

EMPTY = "empty"


class Bench(Protocol):
    """A place with memory.

    Attributes:
        place: What processes open.
    """

    place: Place

    def save(self, name: str) -> None:
        """Remember the state under a name. No process may be at work."""

    def load(self, name: str) -> None:
        """Go back to a state; `EMPTY` is there from the start."""

    def settle(self) -> None:
        """Wait until nothing of a dead process is at work any more."""


class FolderBench:
    """Chroma on disk, beside SQLite.

    Args:
        folder: An empty one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.place = Place("chroma", str(folder / "now"))
        (folder / EMPTY).mkdir(parents=True)

    def save(self, name: str) -> None:
        """Remember the state."""
        shutil.copytree(self.place.folder, self._folder / name)

    def load(self, name: str) -> None:
        """Go back to a state."""
        shutil.rmtree(self.place.folder, ignore_errors=True)
        shutil.copytree(self._folder / name, self.place.folder)
        self.place.log.unlink(missing_ok=True)

    def settle(self) -> None:
        """Do nothing: the files of a dead process are closed."""


class PostgresBench:
    """One PostgreSQL database for everything; a state is a schema.

    Args:
        url: Of a database with pgvector, which nobody else is using.
        folder: An empty one, for the log of the model's calls.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self._url = make_url(url).set(drivername="postgresql").render_as_string(False)
        self._name = f"s{uuid4().hex[:12]}"
        self.place = Place("postgres", str(folder), url=url, schema=f"{self._name}_now")
        folder.mkdir(parents=True, exist_ok=True)
        with self._connect() as connection:
            schema = f"{self._name}_{EMPTY}"
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(f"CREATE SCHEMA {schema}".encode())
            connection.execute(
                # As PGEngine.init_vectorstore_table makes it.
                f"CREATE TABLE {schema}.{TABLE} (langchain_id UUID PRIMARY KEY, content TEXT "
                f"NOT NULL, embedding public.vector({VECTOR_SIZE}) NOT NULL, "
                "langchain_metadata JSON)".encode()
            )

    def save(self, name: str) -> None:
        """Remember the state."""
        self._copy(self.place.schema, f"{self._name}_{name}")

    def load(self, name: str) -> None:
        """Go back to a state."""
        self._copy(f"{self._name}_{name}", self.place.schema)
        self.place.log.unlink(missing_ok=True)

    def settle(self) -> None:
        """Wait until the server has noticed that the process is gone."""
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        deadline = time.monotonic() + 30
        with self._connect() as connection:
            while connection.execute(query).fetchone() != (0,):
                assert time.monotonic() < deadline, "the server serves a dead process"
                time.sleep(0.005)

    def _copy(self, source: str, target: str) -> None:
        with self._connect() as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = %s", [source]
            ).fetchall()
            statements = [f"DROP SCHEMA IF EXISTS {target} CASCADE", f"CREATE SCHEMA {target}"]
            for (table,) in found:
                statements += [
                    f"CREATE TABLE {target}.{table} (LIKE {source}.{table} INCLUDING ALL)",
                    f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}",
                ]
            # The numbers that were given out are part of a state; a table's own come with it.
            sequences = connection.execute(
                "SELECT sequencename, last_value FROM pg_sequences "
                "WHERE schemaname = %s AND sequencename !~ '_seq$'",
                [source],
            ).fetchall()
            for sequence, last in sequences:
                statements.append(f"CREATE SEQUENCE {target}.{sequence}")
                if last is not None:
                    statements.append(f"SELECT setval('{target}.{sequence}', {int(last)})")
            connection.execute("; ".join(statements).encode())

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._url, autocommit=True)
        connection.execute("SET client_min_messages = warning")
        return connection


class OnceBench:
    """A place that is used once, and never set back.

    Args:
        place: Where.
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    def save(self, name: str) -> None:
        """Do nothing: there is no way back."""

    def load(self, name: str) -> None:
        """Do nothing: there is no way back."""

    def settle(self) -> None:
        """Do nothing: the files of a dead process are closed."""
