"""The tokens of the full-text index on PostgreSQL: a `tsvector` with a GIN index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import ARRAY, BigInteger, Text, bindparam, func, insert, text

from langchain_rag.lexical.bm25 import LEVELS, numbered
from langchain_rag.storage._full_text_tables import CHUNKS_IN_POSTGRES as CHUNKS
from langchain_rag.storage._full_text_tables import head_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from langchain_rag.lexical.bm25 import Ids
    from langchain_rag.storage._full_text_tables import Row

_NUMBER: Final = text(
    "SELECT nextval('langchain_rag_full_text_sequence') FROM generate_series(1, :many)"
)
_COUNT: Final = text(
    "SELECT (SELECT count(*) FROM langchain_rag_full_text "
    "WHERE tokens @@ CAST(token AS tsquery)) "
    "FROM unnest(:these) WITH ORDINALITY AS asked(token, place) ORDER BY place"
).bindparams(bindparam("these", type_=ARRAY(Text)))
# Eight bytes a chunk rather than a row.
_LIST: Final = text(
    "SELECT (SELECT string_agg(int8send(id), '') FROM langchain_rag_full_text "
    "WHERE tokens @@ CAST(token AS tsquery)) "
    "FROM unnest(:these) WITH ORDINALITY AS asked(token, place) ORDER BY place"
).bindparams(bindparam("these", type_=ARRAY(Text)))
_READ: Final = text(
    "SELECT id, tsvector_to_array(tokens) FROM langchain_rag_full_text WHERE id = ANY(:these)"
).bindparams(bindparam("these", type_=ARRAY(BigInteger)))
_INSERT: Final = insert(CHUNKS).values(
    tokens=func.array_to_tsvector(bindparam("list", type_=ARRAY(Text)))
)


class PostgresTokens:
    """Writes tokens and chunks' rows."""

    def numbers(self, connection: Connection, lengths: Sequence[int]) -> list[int]:
        """Return new numbers for chunks of these lengths."""
        found: Sequence[int] = connection.scalars(_NUMBER, {"many": len(lengths)}).all()
        return [numbered(place, length) for place, length in zip(found, lengths, strict=True)]

    def insert(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert chunks that are not there."""
        connection.execute(
            _INSERT,
            [
                {
                    "id": row.id,
                    "namespace": row.namespace,
                    "key": row.key,
                    "list": row.tokens.split(),
                }
                for row in rows
            ],
        )

    def delete(self, connection: Connection, ids: Sequence[int]) -> None:
        """Do nothing: the tokens are in the chunks' rows."""


class PostgresPostings:
    """Who has which term; see `langchain_rag.lexical.bm25.Postings`.

    Args:
        connection: In a transaction.
        space: Number of the store.
    """

    def __init__(self, connection: Connection, space: int) -> None:
        self._connection = connection
        self._space = space

    def documents_with(self, terms: Sequence[str]) -> dict[str, int]:
        """Say how many documents have each term."""
        rows: Any = self._connection.execute(_COUNT, {"these": self._queries(terms, (1,))})
        return {term: row[0] for term, row in zip(terms, rows, strict=True)}

    def lists_of(self, term: str) -> Mapping[int, Ids]:
        """Return for each level who has the term that often."""
        rows: Any = self._connection.execute(_LIST, {"these": self._queries([term], LEVELS)})
        found: dict[int, Ids] = {}
        for level, row in zip(LEVELS, rows, strict=True):
            if row[0] is not None:
                found[level] = np.sort(np.frombuffer(row[0], dtype=">i8").astype(np.int64))
        return found

    def counts_in(self, ids: Ids, terms: Sequence[str]) -> Iterator[Sequence[int]]:
        """Return for each document the level of each term."""
        rows: Any = self._connection.execute(_READ, {"these": ids.tolist()})
        tokens = {id_: frozenset(listed) for id_, listed in rows}
        heads = [head_of(self._space, term) for term in terms]
        for id_ in ids.tolist():
            there = tokens.get(id_, frozenset())
            yield [
                max((level for level in LEVELS if f"{head}{level}" in there), default=0)
                for head in heads
            ]

    def _queries(self, terms: Sequence[str], levels: Sequence[int]) -> list[str]:
        # Quoted, and no term has a quote: nothing in it is syntax.
        return [f"'{head_of(self._space, term)}{level}'" for term in terms for level in levels]
