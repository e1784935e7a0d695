"""The rows of the full-text index: written, deleted, counted. The same on every database."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, select, update

from langchain_rag.lexical.bm25 import Totals, length_of
from langchain_rag.lexical.texts import prefix_of
from langchain_rag.lifecycle.batches import batched
from langchain_rag.storage._full_text_postgres import PostgresPostings, PostgresTokens
from langchain_rag.storage._full_text_sqlite import SqlitePostings, SqliteTokens
from langchain_rag.storage._full_text_tables import CHUNKS, SPACES, Row, tokens_of
from langchain_rag.storage._schema import among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from langchain_rag.lexical.bm25 import Postings

_SOME: Final = 500
"""Chunks that are deleted at once when all are."""


class Rows:
    """The rows of one namespace, in one transaction.

    Args:
        connection: In a transaction.
        namespace: Of the docstore.
    """

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        on_sqlite = connection.dialect.name == "sqlite"
        self._tokens = SqliteTokens() if on_sqlite else PostgresTokens()

    def put(self, chunks: Mapping[str, Sequence[str] | None]) -> None:
        """Write chunks over those that are there.

        Args:
            chunks: Their terms by key; None for one that must not be found.
        """
        changes = self._removed(list(chunks))
        terms = {key: found for key, found in sorted(chunks.items()) if found is not None}
        if terms:
            spaces = self._spaces({prefix_of(key) for key in terms})
            lengths = [len(found) for found in terms.values()]
            ids = self._tokens.numbers(self._connection, lengths)
            rows = [
                Row(id_, self._namespace, key, tokens_of(spaces[prefix_of(key)], found))
                for id_, (key, found) in zip(ids, terms.items(), strict=True)
            ]
            self._tokens.insert(self._connection, rows)
            for row in rows:
                changes[prefix_of(row.key)].append((1, length_of(row.id)))
        self._count(changes)

    def remove(self, keys: Sequence[str]) -> None:
        """Delete chunks; those that are not there are passed over.

        Args:
            keys: Their keys.
        """
        self._count(self._removed(keys))

    def clear(self) -> None:
        """Delete all chunks of the namespace, some at a time."""
        query = select(CHUNKS.c.key).where(CHUNKS.c.namespace == self._namespace).limit(_SOME)
        while keys := self._connection.scalars(query).all():
            self._removed(keys)
        of_all = SPACES.c.namespace == self._namespace
        self._connection.execute(update(SPACES).where(of_all).values(documents=0, length=0))

    def postings(self, prefix: str) -> tuple[Postings, Totals] | None:
        """Return what to search.

        Args:
            prefix: Of the chunks' keys.

        Returns:
            Who has which term, and the totals; None where there are no chunks.
        """
        query = select(SPACES.c.space, SPACES.c.documents, SPACES.c.length).where(
            SPACES.c.namespace == self._namespace, SPACES.c.prefix == prefix
        )
        row = self._connection.execute(query).one_or_none()
        if row is None or row[1] <= 0:
            return None
        on_sqlite = self._connection.dialect.name == "sqlite"
        kind = SqlitePostings if on_sqlite else PostgresPostings
        return kind(self._connection, row[0]), Totals(row[1], row[2])

    def keys_of(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the keys of chunks.

        Args:
            ids: Their numbers; those that are not there any more are left out.
        """
        query = select(CHUNKS.c.id, CHUNKS.c.key)
        found: dict[int, str] = {}
        for some in batched(list(ids), _SOME):
            rows = self._connection.execute(query.where(CHUNKS.c.id.in_(some)))
            found.update((id_, key) for id_, key in rows)
        return found

    def _removed(self, keys: Sequence[str]) -> defaultdict[str, list[tuple[int, int]]]:
        changes: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        these = self._these(keys)
        query = select(CHUNKS.c.id, CHUNKS.c.key).where(*self._named())
        found = self._connection.execute(query, these).all()
        if found:
            self._tokens.delete(self._connection, [id_ for id_, _ in found])
            self._connection.execute(delete(CHUNKS).where(*self._named()), these)
        for id_, key in found:
            changes[prefix_of(key)].append((-1, -length_of(id_)))
        return changes

    def _spaces(self, prefixes: set[str]) -> dict[str, int]:
        query = select(SPACES.c.prefix, SPACES.c.space).where(
            SPACES.c.namespace == self._namespace
        )
        found = {prefix: space for prefix, space in self._connection.execute(query)}  # noqa: C416
        missing = sorted(prefixes - found.keys())
        if not missing:
            return found
        self._connection.execute(
            upsert(self._connection, SPACES).on_conflict_do_nothing(
                index_elements=[SPACES.c.namespace, SPACES.c.prefix]
            ),
            [
                {"namespace": self._namespace, "prefix": prefix, "documents": 0, "length": 0}
                for prefix in missing
            ],
        )
        return {prefix: space for prefix, space in self._connection.execute(query)}  # noqa: C416

    def _count(self, changes: Mapping[str, list[tuple[int, int]]]) -> None:
        # Last of all that a transaction writes, and sorted: writers wait for each other here,
        # never in a ring.
        for prefix, steps in sorted(changes.items()):
            documents = sum(step[0] for step in steps)
            length = sum(step[1] for step in steps)
            self._connection.execute(
                update(SPACES)
                .where(SPACES.c.namespace == self._namespace, SPACES.c.prefix == prefix)
                .values(
                    documents=SPACES.c.documents + documents, length=SPACES.c.length + length
                )
            )

    def _named(self) -> tuple[ColumnElement[bool], ...]:
        condition = among(self._connection.dialect.name, CHUNKS.c.key, "these")
        return CHUNKS.c.namespace == self._namespace, condition

    def _these(self, keys: Sequence[str]) -> dict[str, object]:
        return {"these": listed(self._connection.dialect.name, keys)}
