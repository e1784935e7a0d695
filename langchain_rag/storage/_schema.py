"""Tables of the docstore, and their creation where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Integer, MetaData, Table, Text, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION = 1
"""Of the docstore's tables. A new one comes with a migration."""

_METADATA = MetaData()  # of our own: an engine may be shared with the user's tables
# Bytewise order, which SQLite has by itself, is what prefixes are searched by.
_KEY_TYPE = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")

DOCUMENTS = Table(
    "langchain_rag_documents",
    _METADATA,
    Column("namespace", _KEY_TYPE, primary_key=True),
    Column("key", _KEY_TYPE, primary_key=True),
    Column("page_content", Text, nullable=False),
    Column("id", Text),
    Column("metadata", Text, nullable=False),
)

VERSIONS = Table(
    "langchain_rag_schema",
    _METADATA,
    Column("component", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)


def create_docstore(connection: Connection) -> None:
    """Create the docstore's tables where they are missing.

    Args:
        connection: A connection outside of a transaction.

    Raises:
        ConfigurationError: If a newer langchain-rag made the tables.
    """
    create_table(connection, VERSIONS)
    create_table(connection, DOCUMENTS)
    component = "docstore"
    query = select(VERSIONS.c.version).where(VERSIONS.c.component == component)
    version = connection.scalar(query)
    if version is None:
        row = upsert(connection, VERSIONS).values(component=component, version=VERSION)
        connection.execute(row.on_conflict_do_nothing())
        version = connection.scalar(query)
    if version != VERSION:
        msg = (
            f"The docstore's tables in this database are of version {version}, and this "
            f"langchain-rag reads version {VERSION}: upgrade it, or use another database."
        )
        raise ConfigurationError(msg)


def create_table(connection: Connection, table: Table[Any]) -> None:
    """Create a table and its indexes where they are missing.

    `MetaData.create_all` looks first and then creates, so that of two threads one fails.

    Args:
        connection: The connection to create it with.
        table: The table.
    """
    connection.execute(CreateTable(table, if_not_exists=True))
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        connection.execute(CreateIndex(index, if_not_exists=True))


def upsert(connection: Connection, table: Any) -> sqlite.Insert | postgresql.Insert:
    """Return the dialect's INSERT, which has `on_conflict_do_update`.

    Args:
        connection: The connection that will run it.
        table: The table, or the ORM class of it.

    Returns:
        An INSERT without values.

    Raises:
        ConfigurationError: If the database is neither SQLite nor PostgreSQL.
    """
    dialect = connection.dialect.name
    if dialect == "sqlite":
        return sqlite.insert(table)
    if dialect == "postgresql":
        return postgresql.insert(table)
    msg = (
        f"langchain-rag stores in SQLite and PostgreSQL; this engine is for {dialect!r}. "
        "Give an engine of one of the two."
    )
    raise ConfigurationError(msg)
