"""The full-text index of a docstore: in the transactions that write the records."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import select, text, update

from langchain_rag.errors import ConfigurationError, CorruptStoreError
from langchain_rag.lexical import analysis, bm25
from langchain_rag.lexical.texts import CHUNKS, chunk_key_of, text_of, variations_key_of
from langchain_rag.storage import _docstore_statements as statements
from langchain_rag.storage._full_text_rows import Rows
from langchain_rag.storage._full_text_tables import SETTINGS, create
from langchain_rag.storage._schema import upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from langchain_core.documents import Document
    from sqlalchemy import Connection

_LAYOUT: Final = 1
"""Of the index's tables; one that was made with another is built anew."""

_LOCK: Final = int.from_bytes(
    hashlib.sha256(b"langchain-rag full text").digest()[:8], "big", signed=True
)
"""Of PostgreSQL's advisory locks, the one that whoever writes shares, and who builds has."""

_ONE_STATE: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

_MOST_TIES: Final = 1000
"""Chunks that are looked at to find out which of equally good ones come first."""


@dataclass(frozen=True, slots=True)
class FullText:
    """How a docstore keeps its full-text index.

    Attributes:
        language: Whose stop words are left out and whose words are cut to their stems;
            `"simple"` for neither.
        variations: Whether a chunk is also found by the words of its variations (questions,
            summaries).
    """

    language: str = "english"
    variations: bool = False


class FullTextIndex:
    """The bodies that keep and search the index of one namespace.

    A store that keeps no index says so in the database when it writes chunks, so that an index
    that somebody else keeps there is known to be behind; it is then built anew by the next
    search, or by the first write of a store that keeps one.

    Args:
        namespace: Of the docstore.
        full_text: How it is kept; a language for short, None for no index.

    Raises:
        ConfigurationError: There is no stemmer for the language.
    """

    def __init__(self, namespace: str, full_text: FullText | str | None) -> None:
        kept = FullText(full_text) if isinstance(full_text, str) else full_text
        self.kept = kept
        self._namespace = namespace
        self._analysis = None if kept is None else analysis.Analysis(kept.language)
        self._has_written = False
        self._made_with = ""
        if kept is not None:
            also = " variations" if kept.variations else ""
            self._made_with = f"{_LAYOUT} {analysis.VERSION} {kept.language}{also}"

    def writing(
        self, documents: Mapping[str, Document], write: Callable[[Connection], None]
    ) -> Callable[[Connection], None]:
        """Return the body that writes records, and what they change in the index.

        Args:
            documents: The records by key.
            write: The body that writes them.
        """
        chunks: dict[str, list[str] | None] = {}
        if self._analysis is not None and not self._with_variations:
            for key, document in documents.items():
                if key.startswith(CHUNKS):
                    chunks[key] = self._terms(document, None)
        changed = self._changed(documents)
        if not changed:
            return write

        def put(connection: Connection) -> None:
            rows = Rows(connection, self._namespace)
            rows.put(self._read(connection, changed) if self._with_variations else chunks)

        return self._keeping(write, put)

    def deleting(
        self, keys: Sequence[str], delete: Callable[[Connection], None]
    ) -> Callable[[Connection], None]:
        """Return the body that deletes records, and what of the index is theirs.

        Args:
            keys: Of the records.
            delete: The body that deletes them.
        """
        changed = self._changed(keys)
        if not changed:
            return delete

        def remove(connection: Connection) -> None:
            rows = Rows(connection, self._namespace)
            if self._with_variations:
                rows.put(self._read(connection, changed))
            else:
                rows.remove(changed)

        return self._keeping(delete, remove)

    def searching(
        self, query: str, k: int, prefix: str, *, alone: bool = False
    ) -> Callable[[Connection], list[tuple[str, float]] | None]:
        """Return the body that searches.

        Args:
            query: Any text.
            k: How many chunks, at least 1.
            prefix: Of their keys.
            alone: Whether it has the index for itself, and is not what begins a transaction.

        Returns:
            The body, which returns None where the index has to be built first.

        Raises:
            ConfigurationError: This docstore keeps no index.
        """
        if self._analysis is None:
            message = (
                "This docstore keeps no full-text index to search: make it with "
                "SQLDocStore(engine, full_text='english'), which indexes what is there already."
            )
            raise ConfigurationError(message)
        terms = self._analysis.terms(query)

        def body(connection: Connection) -> list[tuple[str, float]] | None:
            if not alone and connection.dialect.name == "postgresql":
                # Its several statements have to see one state, as they do on SQLite.
                connection.execute(text(_ONE_STATE))
            if not self._is_current(connection):
                return None
            rows = Rows(connection, self._namespace)
            found = rows.postings(prefix) if terms else None
            if found is None:
                return []
            best = bm25.best(*found, terms, k)[: k + _MOST_TIES]
            keys = rows.keys_of(id_ for id_, _ in best)
            scored = [(keys[id_], round(score, 9)) for id_, score in best if id_ in keys]
            return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]

        return body

    def build(self, connection: Connection) -> None:
        """Build the index of all that is there, if it is not current.

        Args:
            connection: In a transaction that may write.
        """
        self._lock(connection, alone=True)
        create(connection)
        if self._is_current(connection):
            return
        rows = Rows(connection, self._namespace)
        rows.clear()
        page_after = statements.pages(self._namespace, CHUNKS)
        last: str | None = None
        while keys := page_after(last)(connection):
            rows.put(self._read(connection, keys))
            last = keys[-1]
        self._has_written = True
        insert = upsert(connection, SETTINGS).values(
            namespace=self._namespace, made_with=self._made_with, behind=0
        )
        connection.execute(
            insert.on_conflict_do_update(
                index_elements=[SETTINGS.c.namespace],
                set_={"made_with": self._made_with, "behind": 0},
            )
        )

    @property
    def _with_variations(self) -> bool:
        return self.kept is not None and self.kept.variations

    def _changed(self, keys: Iterable[str]) -> list[str]:
        """Return the chunks that something is said of, which the index may have to know."""
        found = {chunk_key_of(key) for key in keys if key.startswith(CHUNKS)}
        if self.kept is None or self._with_variations:
            # An index that others keep may be one with variations.
            found |= {chunk_key_of(key) for key in keys}
        return sorted(key for key in found if key is not None)

    def _keeping(
        self, change: Callable[[Connection], None], keep: Callable[[Connection], None]
    ) -> Callable[[Connection], None]:
        def body(connection: Connection) -> None:
            if self.kept is not None and self._must_build(connection):
                self._lock(connection, alone=True)
                change(connection)
                if self._is_current(connection):  # another writer has been faster
                    keep(connection)
                else:
                    self.build(connection)
                return
            self._lock(connection, alone=False)
            current = self.kept is not None and self._is_current(connection)
            change(connection)
            if current:
                keep(connection)
            else:
                self._fall_behind(connection)

        return body

    def _must_build(self, connection: Connection) -> bool:
        """Say whether a write has to build the index first.

        The first one of this store has. Later ones leave it behind, if others write beside
        them who do not keep it: building it again and again would take longer than searching.
        """
        made_with, behind = self._settings(connection)
        if made_with is None:
            return True
        if self._has_written:
            return False
        self._has_written = True
        return behind or made_with != self._made_with

    def _fall_behind(self, connection: Connection) -> None:
        here = SETTINGS.c.namespace == self._namespace, SETTINGS.c.behind == 0
        connection.execute(update(SETTINGS).where(*here).values(behind=1))

    def _is_current(self, connection: Connection) -> bool:
        return self._settings(connection) == (self._made_with, False)

    def _settings(self, connection: Connection) -> tuple[str | None, bool]:
        query = select(SETTINGS.c.made_with, SETTINGS.c.behind)
        row = connection.execute(
            query.where(SETTINGS.c.namespace == self._namespace)
        ).one_or_none()
        return (None, True) if row is None else (row[0], bool(row[1]))

    def _lock(self, connection: Connection, *, alone: bool) -> None:
        """Let nobody build the index who does not see what is being written."""
        if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
            shared = "" if alone else "_shared"
            query = f"SELECT pg_advisory_xact_lock{shared}(:key)"
            connection.execute(text(query), {"key": _LOCK})

    def _read(self, connection: Connection, keys: Sequence[str]) -> dict[str, list[str] | None]:
        """Return the terms of chunks as they stand in the docstore."""
        records = self._readable(connection, keys)
        variations: dict[str, Document] = {}
        if self._with_variations:
            wanted = [variations_key_of(key) for key in keys]
            variations = self._readable(connection, wanted)
        return {
            key: self._terms(records[key], variations.get(variations_key_of(key)))
            if key in records
            else None
            for key in keys
        }

    def _readable(self, connection: Connection, keys: Sequence[str]) -> dict[str, Document]:
        """Return what can be decoded; a search leaves out the rest anyway."""
        try:
            found = statements.read(self._namespace, keys)(connection)
        except CorruptStoreError:
            if len(keys) == 1:
                return {}
            middle = len(keys) // 2
            first = self._readable(connection, keys[:middle])
            return first | self._readable(connection, keys[middle:])
        pairs = zip(keys, found, strict=True)
        return {key: document for key, document in pairs if document is not None}

    def _terms(self, chunk: Document, variations: Document | None) -> list[str] | None:
        said = text_of(chunk, variations)
        return None if said is None or self._analysis is None else self._analysis.terms(said)
