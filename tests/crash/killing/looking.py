"""What is in the stores, read from them without a call that could mend anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import chromadb
from chromadb.config import Settings
from langchain_core.stores import InMemoryStore
from sqlalchemy import create_engine, inspect, select, text

from langchain_rag._reserved import CHUNK, DOCUMENT
from langchain_rag.storage._codec import decode
from langchain_rag.storage._schema import DOCUMENTS
from langchain_rag.testing import audit, contents
from tests.crash.killing import sites

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from tests.crash.killing.sites import Place


class Rows:
    """Lists the rows of a vector store for `langchain_rag.testing.audit`.

    Args:
        place: Where it is.
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    def get(self, include: Any = None) -> Any:
        """Return all rows, in Chroma's form."""
        if self.place.kind != "chroma":
            return self._of_postgres()
        folder = self.place.vectors or str(Path(self.place.folder, "chroma"))
        client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        if not client.list_collections():
            return {"ids": [], "documents": [], "metadatas": []}
        return client.get_collection("rows").get(include=include)

    def _of_postgres(self) -> dict[str, list[Any]]:
        engine = create_engine(sites.postgres_url(self.place, "sync"))
        query = f"SELECT langchain_id, content, langchain_metadata FROM {sites.TABLE}"
        with engine.connect() as connection:
            rows = connection.execute(text(query)).all()
        engine.dispose()
        return {
            "ids": [str(row[0]) for row in rows],
            "documents": [row[1] for row in rows],
            "metadatas": [row[2] for row in rows],
        }


class Pair:
    """Two stores to audit.

    Args:
        place: Where they are.
        engine: On the docstore.
    """

    def __init__(self, place: Place, engine: Engine) -> None:
        self.vectorstore: Any = Rows(place)
        # Not an `SQLDocStore`: it would create the tables that a dead process had not.
        self.docstore: Any = InMemoryStore()
        if inspect(engine).has_table(DOCUMENTS.name):
            columns = DOCUMENTS.c
            query = select(columns.key, columns.page_content, columns.id, columns.metadata)
            with engine.connect() as connection:
                rows = connection.execute(query).all()
            self.docstore.mset([(row[0], decode(*row)) for row in rows])


def look(place: Place) -> dict[str, Any]:
    """Read everything that the stores of a place hold.

    Args:
        place: Which.

    Returns:
        As JSON: `rows` and `records` by id, `found` (document, chunk and variation of every
        row that stands for a chunk), `index` (what the record manager noted), `at_once` and
        `settled` (what the audit finds wrong, before and after a call has succeeded).
    """
    engine = create_engine(sites.database_url(place, "sync"))
    pair = Pair(place, engine)
    found = contents(pair, copy=False)
    chunks = found.room("chunks")
    seen = {
        "rows": {i: [row.page_content, row.metadata] for i, row in found.rows.items()},
        "records": {k: [one.page_content, one.metadata] for k, one in found.records.items()},
        "found": sorted(
            [
                str(row.metadata[DOCUMENT]),
                chunks[row.metadata[CHUNK]].page_content,
                row.page_content,
            ]
            for row in found.rows.values()
            if row.metadata.get(CHUNK) in chunks
        ),
        "index": _noted(engine, "SELECT key, group_id FROM upsertion_record ORDER BY key"),
        "claims": _noted(engine, "SELECT key, writer FROM langchain_rag_claims ORDER BY key"),
        "at_once": audit(pair, settled=False),
        "settled": audit(pair),
    }
    engine.dispose()
    return seen


def _noted(engine: Engine, query: str) -> list[list[Any]]:
    table = query.split()[4]
    if not inspect(engine).has_table(table):
        return []
    with engine.connect() as connection:
        return [list(row) for row in connection.execute(text(query))]
