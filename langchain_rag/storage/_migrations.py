"""The tables that a store needs, created where missing and migrated where old."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import inspect, select, text

from langchain_rag.errors import ConfigurationError
from langchain_rag.storage._schema import (
    CLAIMS,
    DOCUMENTS,
    EMBEDDINGS,
    FULL_TEXT_SETTINGS,
    VARIATIONS,
    VERSIONS,
    create_table,
    upsert,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Table

Migration: TypeAlias = "Callable[[Connection], None]"
"""What brings the tables of one version to the next one."""

_LOCK: Final = 0x6C63_7261_675F_3031
"""Of PostgreSQL's advisory locks, the one for creating and migrating."""


@dataclass(frozen=True)
class Schema:
    """Tables that belong together.

    Attributes:
        tables: As they are in the newest version.
        component: The name under which their version is kept; "" for tables of others, which
            are created where they are missing, and have no version of ours.
        migrations: The first brings version 1 to version 2, the second that to version 3,
            and so on. One that was released is never changed.
    """

    tables: tuple[Table[Any], ...]
    component: str = ""
    migrations: tuple[Migration, ...] = ()

    @property
    def version(self) -> int:
        """The newest version, which this langchain-rag reads and writes."""
        return 1 + len(self.migrations)

    def is_current(self, connection: Connection) -> bool:
        """Say whether there is nothing to create or migrate. Reads only.

        Args:
            connection: A connection in a transaction.

        Raises:
            ConfigurationError: If a newer langchain-rag made the tables, or the database is
                one that we have no statements for.
        """
        upsert(connection, VERSIONS)  # refuses other databases
        needed = (*self.tables, VERSIONS) if self.component else self.tables
        inspector = inspect(connection)
        if not all(inspector.has_table(table.name) for table in needed):
            return False
        return not self.component or self._stored(connection) == self.version

    def make_current(self, connection: Connection) -> None:
        """Create what is missing, and migrate what is old. One process at a time does it.

        Args:
            connection: A connection in a transaction that may write: on SQLite one that
                holds the lock for that.

        Raises:
            ConfigurationError: If a newer langchain-rag made the tables.
        """
        if connection.dialect.name == "postgresql":
            # IF NOT EXISTS does not help two that create the same table at the same time.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if not self.component:
            self._create(connection)
            return
        create_table(connection, VERSIONS)
        stored = self._stored(connection)  # again: another process may have done it all
        if stored is not None:
            for migrate in self.migrations[stored - 1 :]:
                migrate(connection)
        self._create(connection)
        insert = upsert(connection, VERSIONS).values(
            component=self.component, version=self.version
        )
        connection.execute(
            insert.on_conflict_do_update(
                index_elements=[VERSIONS.c.component], set_={"version": self.version}
            )
        )

    def _create(self, connection: Connection) -> None:
        for table in self.tables:
            create_table(connection, table)

    def _stored(self, connection: Connection) -> int | None:
        query = select(VERSIONS.c.version).where(VERSIONS.c.component == self.component)
        stored: int | None = connection.scalar(query)
        if stored is None or 1 <= stored <= self.version:
            return stored
        msg = (
            f"The {self.component}'s tables in this database are of version {stored}, and this "
            f"langchain-rag reads version {self.version}: upgrade it, or use another database."
        )
        raise ConfigurationError(msg)


def _mind_the_full_text_index(connection: Connection) -> None:
    """Change nothing, but let no older langchain-rag write, which would not know the index."""


DOCSTORE: Final = Schema(
    component="docstore",
    tables=(DOCUMENTS, CLAIMS, FULL_TEXT_SETTINGS),
    # A change of the tables is made in `_schema.py`, as new databases get it, and appended
    # here, as old ones do; tables that are missing are created after it.
    migrations=(_mind_the_full_text_index,),
)

VARIATION_CACHE: Final = Schema(
    component="variation cache",
    tables=(VARIATIONS,),
    migrations=(),  # as above
)

EMBEDDING_CACHE: Final = Schema(
    component="embedding cache",
    tables=(EMBEDDINGS,),
    migrations=(),  # as above
)
