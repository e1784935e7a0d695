"""The tables of a database, and what stands in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import postgresql, sqlite

from langchain_rag.lifecycle.identity import StorageKeys
from langchain_rag.lifecycle.records import ChunkRecord, write_chunk
from langchain_rag.storage import FullText, SQLDocStore, create_engine
from langchain_rag.storage import _full_text_tables as full_text
from langchain_rag.storage._migrations import DOCSTORE, EMBEDDING_CACHE, VARIATION_CACHE
from langchain_rag.storage._record_manager_statements import SCHEMA as RECORD_MANAGER
from langchain_rag.storage._schema import VERSIONS, create_table
from tests.golden.pinned import pinned

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.schema import ExecutableDDLElement


CHUNK = "9f8e7d6c-0000-5000-8000-000000000001"


class Statements:
    """Stands for a connection, and runs nothing."""

    def __init__(self, dialect: Any) -> None:
        self.dialect = dialect
        self.found: list[str] = []

    def execute(self, statement: ExecutableDDLElement) -> None:
        self.exec_driver_sql(str(statement.compile(dialect=self.dialect)))

    def exec_driver_sql(self, statement: str) -> None:
        self.found.append(statement.strip())


@pytest.mark.parametrize("dialect", [sqlite, postgresql])
def test_of_new_databases(dialect: Any) -> None:
    statements: Any = Statements(dialect.dialect())
    create_table(statements, VERSIONS)
    for schema in (DOCSTORE, VARIATION_CACHE, EMBEDDING_CACHE, RECORD_MANAGER):
        for table in schema.tables:
            create_table(statements, table)
    full_text.create(statements)
    # SQLAlchemy leaves blanks at the ends of lines.
    lines = [line.rstrip() for line in ";\n\n".join(statements.found).splitlines()]
    name = f"schema_{statements.dialect.name}.sql"
    pinned("\n".join(lines) + ";\n", Path(__file__).with_name(name).read_text())


def test_versions() -> None:
    schemas = (DOCSTORE, VARIATION_CACHE, EMBEDDING_CACHE)
    pinned(
        {schema.component: schema.version for schema in schemas},
        {"docstore": 2, "variation cache": 1, "embedding cache": 1},
    )


def test_rows() -> None:
    engine: Any = create_engine("sqlite://")
    store = SQLDocStore(engine, "maths", full_text=FullText(variations=True))
    key = StorageKeys("maths").chunk(CHUNK)
    metadata = {"ü": [1, None]}
    chunk = ChunkRecord(CHUNK, "doc", "Proof of proofs.", 0, metadata, whole=False, fan_out=1)
    store.mset([(key, write_chunk(chunk))])
    found = {
        table: rows_of(engine, table)
        for table in (
            "langchain_rag_schema",
            "langchain_rag_documents",
            "langchain_rag_full_text_settings",
            "langchain_rag_full_text_spaces",
            "langchain_rag_full_text",
            "langchain_rag_full_text_tokens",
        )
    }
    engine.dispose()
    pinned(
        found,
        {
            "langchain_rag_schema": [("docstore", 2)],
            "langchain_rag_documents": [
                (
                    "maths",
                    "chunks/57de3173126e4f1e/9f8e7d6c-0000-5000-8000-000000000001",
                    "Proof of proofs.",
                    None,
                    (
                        '{"format": 1, "key": "9f8e7d6c-0000-5000-8000-000000000001", '
                        '"document_id": "doc", "ordinal": 0, "whole": false, "fan_out": 1, '
                        '"metadata": {"\\u00fc": [1, null]}}'
                    ),
                )
            ],
            "langchain_rag_full_text_settings": [("maths", "1 1 english variations", 0)],
            "langchain_rag_full_text_spaces": [(1, "maths", "chunks/57de3173126e4f1e/", 1, 2)],
            "langchain_rag_full_text": [(1048578, "maths", f"chunks/57de3173126e4f1e/{CHUNK}")],
            "langchain_rag_full_text_tokens": [("1·proof·1 1·proof·2",)],
        },
    )


def rows_of(engine: Engine, table: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(f"SELECT * FROM {table}"))]
