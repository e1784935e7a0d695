"""The tokens of the full-text index on SQLite: FTS5."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import func, insert, select

from langchain_rag.lexical.bm25 import numbered, sequence_of
from langchain_rag.storage._full_text_tables import CHUNKS, head_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from langchain_rag.lexical.bm25 import Ids
    from langchain_rag.storage._full_text_tables import Row

# Values go in as JSON: one statement for any number of them. CROSS JOIN keeps their order.
# Tokens are compared by their bytes, in which the dot ends just before U+00B8.
_COUNT: Final = (
    "SELECT term.value, found.term, found.doc FROM json_each(?) AS term "
    "CROSS JOIN langchain_rag_full_text_frequencies AS found "
    "ON found.term >= term.value || char(183) AND found.term < term.value || char(184)"
)
# One text rather than many rows: half of the time.
_LIST: Final = (
    "SELECT (SELECT group_concat(rowid) FROM langchain_rag_full_text_tokens "
    "WHERE langchain_rag_full_text_tokens MATCH token.value) FROM json_each(?) AS token"
)
_READ: Final = (
    "SELECT chunk.rowid, chunk.tokens FROM json_each(?) AS id "
    "CROSS JOIN langchain_rag_full_text_tokens AS chunk ON chunk.rowid = id.value"
)
_INSERT: Final = "INSERT INTO langchain_rag_full_text_tokens (rowid, tokens) VALUES (?, ?)"
_DELETE: Final = "DELETE FROM langchain_rag_full_text_tokens WHERE rowid = ?"


class SqliteTokens:
    """Writes tokens and chunks' rows."""

    def numbers(self, connection: Connection, lengths: Sequence[int]) -> list[int]:
        """Return new numbers for chunks of these lengths. One writer at a time."""
        last: int | None = connection.scalar(select(func.max(CHUNKS.c.id)))
        first = 1 if last is None else sequence_of(last) + 1
        return [numbered(first + place, length) for place, length in enumerate(lengths)]

    def insert(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert chunks that are not there."""
        connection.execute(
            insert(CHUNKS),
            [{"id": row.id, "namespace": row.namespace, "key": row.key} for row in rows],
        )
        tokens: list[tuple[Any, ...]] = [(row.id, row.tokens) for row in rows]
        connection.exec_driver_sql(_INSERT, tokens)

    def delete(self, connection: Connection, ids: Sequence[int]) -> None:
        """Delete the tokens of chunks."""
        gone: list[tuple[Any, ...]] = [(id_,) for id_ in ids]
        connection.exec_driver_sql(_DELETE, gone)


class SqlitePostings:
    """Who has which term; see `langchain_rag.lexical.bm25.Postings`.

    Args:
        connection: In a transaction.
        space: Number of the store.
    """

    def __init__(self, connection: Connection, space: int) -> None:
        self._connection = connection
        self._space = space
        self._levels: dict[str, list[int]] = {}

    def documents_with(self, terms: Sequence[str]) -> dict[str, int]:
        """Say how many documents have each term; one that none has is left out."""
        by_head = {f"{self._space}·{term}": term for term in terms}
        rows: Any = self._connection.exec_driver_sql(_COUNT, (json.dumps(list(by_head)),))
        counts: dict[str, int] = {}
        for head, token, documents in rows:
            term, level = by_head[head], int(token.rpartition("·")[2])
            self._levels.setdefault(term, []).append(level)
            if level == 1:
                counts[term] = documents
        return counts

    def lists_of(self, term: str) -> Mapping[int, Ids]:
        """Return for each level who has the term that often."""
        levels = sorted(self._levels[term])
        head = head_of(self._space, term)
        # Quoted, though no term has anything that FTS5 would take for syntax.
        tokens = json.dumps([f'"{head}{level}"' for level in levels])
        rows: Any = self._connection.exec_driver_sql(_LIST, (tokens,))
        return {level: _numbers(row[0]) for level, row in zip(levels, rows, strict=True)}

    def counts_in(self, ids: Ids, terms: Sequence[str]) -> Iterator[Sequence[int]]:
        """Return for each document the level of each term."""
        known = [
            [(f"{head_of(self._space, term)}{level}", level) for level in self._levels[term]]
            for term in terms
        ]
        rows: Any = self._connection.exec_driver_sql(_READ, (json.dumps(ids.tolist()),))
        listed: dict[int, str] = dict(rows.all())
        for id_ in ids.tolist():
            tokens = set(listed.get(id_, "").split(" "))
            yield [
                max((level for token, level in levels if token in tokens), default=0)
                for levels in known
            ]


def _numbers(listed: str | None) -> Ids:
    if not listed:
        return np.empty(0, np.int64)
    return np.sort(np.fromstring(listed, dtype=np.int64, sep=","))
