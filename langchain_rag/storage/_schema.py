"""Our tables, and the parts of statements that differ between databases.

The tables are as the schemas of `_migrations` make them in a new database.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ARRAY,
    Column,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    any_,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

_METADATA = MetaData()  # of our own: an engine may be shared with the user's tables
# Bytewise order, which SQLite has by itself, is what prefixes are searched by.
KEY_TYPE = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")

DOCUMENTS = Table(
    "langchain_rag_documents",
    _METADATA,
    Column("namespace", KEY_TYPE, primary_key=True),
    Column("key", KEY_TYPE, primary_key=True),
    Column("page_content", Text, nullable=False),
    Column("id", Text),
    Column("metadata", Text, nullable=False),
)

CLAIMS = Table(
    "langchain_rag_claims",
    _METADATA,
    Column("namespace", KEY_TYPE, primary_key=True),
    Column("key", KEY_TYPE, primary_key=True),
    Column("writer", Text, nullable=False, index=True),
)

FULL_TEXT_SETTINGS = Table(
    "langchain_rag_full_text_settings",
    _METADATA,
    Column("namespace", KEY_TYPE, primary_key=True),
    Column("made_with", Text, nullable=False),
    Column("behind", Integer, nullable=False),
)
"""What the full-text index of a namespace was made with, and whether something was written
since that it does not know of. Here, for those who write and keep no such index; the index
itself is `_full_text_tables`'."""

VARIATIONS = Table(
    "langchain_rag_variations",
    _METADATA,
    Column("namespace", KEY_TYPE, primary_key=True),
    Column("key", KEY_TYPE, primary_key=True),
    Column("transformer", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("characters", Integer, nullable=False),
    Column("pieces", Text, nullable=False),
)

EMBEDDINGS = Table(
    "langchain_rag_embeddings",
    _METADATA,
    Column("namespace", KEY_TYPE, primary_key=True),
    Column("key", KEY_TYPE, primary_key=True),
    Column("model", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)

VERSIONS = Table(
    "langchain_rag_schema",
    _METADATA,
    Column("component", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)


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


def among(dialect: str, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    """Return the condition that a column is one of any number of values.

    They are one parameter, so that no database's limit of parameters matters, the text of
    the statement is always the same, and one statement reads one state of the database.

    Args:
        dialect: Name of the database's dialect.
        column: The column.
        name: Name of the parameter, whose value `listed` makes.
    """
    if dialect == "postgresql":
        return column == any_(bindparam(name, type_=ARRAY(Text)))
    values = func.json_each(bindparam(name, type_=Text)).table_valued("value")
    return column.in_(select(values.c.value))


def listed(dialect: str, values: Sequence[str]) -> object:
    """Return values as the parameter of `among`.

    Args:
        dialect: Name of the database's dialect.
        values: The values.
    """
    return list(values) if dialect == "postgresql" else json.dumps(values)
