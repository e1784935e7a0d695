"""A docstore in a SQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from langchain_core.documents import Document
from langchain_core.stores import BaseStore
from sqlalchemy import delete, select
from sqlalchemy.exc import OperationalError

from langchain_rag.errors import CorruptStoreError
from langchain_rag.storage._codec import check_keys, decode, encode
from langchain_rag.storage._database import CHUNK, Database
from langchain_rag.storage._schema import DOCUMENTS, create_docstore, upsert

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from langchain_rag.storage.engine import AnyEngine

_Row: TypeAlias = tuple[str, object, object, object]

_PAGE = 1000
"""Keys that `yield_keys` fetches at once."""

_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class SQLDocStore(BaseStore[str, Document]):
    """Keeps documents in one table of a SQLite database.

    Each call is one transaction, so a call either does all that it was asked or nothing.
    The table is created by the first call. Metadata is kept as JSON; what would not read
    back the same is refused.

    With a sync engine the async methods run in LangChain's executor; with an async engine
    they are native, and the sync methods raise `ConfigurationError`.

    Attributes:
        namespace: Stores of different namespaces share the table, and nothing else.

    Args:
        engine: A sync or async engine, best from `langchain_rag.storage.create_engine`. It
            may be the one that holds tables of your own.
        namespace: Part of every key.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_rag.storage import SQLDocStore, create_engine
        >>> engine = create_engine("sqlite://")
        >>> store = SQLDocStore(engine)
        >>> store.mset([("a", Document("Euler", metadata={"born": 1707}))])
        >>> store.mget(["a", "b"])
        [Document(metadata={'born': 1707}, page_content='Euler'), None]
        >>> engine.dispose()
    """

    def __init__(self, engine: AnyEngine, namespace: str = "") -> None:
        check_keys([namespace])
        self.namespace = namespace
        self._database = Database(engine, create_docstore, type(self).__name__)

    def __repr__(self) -> str:
        # Without the URL, which may hold credentials in more places than the password.
        dialect = self.engine.dialect.name
        return f"{type(self).__name__}(dialect={dialect!r}, namespace={self.namespace!r})"

    @property
    def engine(self) -> AnyEngine:
        """The engine, to dispose of at the end."""
        return self._database.engine

    def mget(self, keys: Sequence[str]) -> list[Document | None]:
        """Read documents.

        Args:
            keys: Their keys.

        Returns:
            A new document for each key, in the order of the keys, or None where there is
            none.

        Raises:
            CorruptStoreError: If a row cannot be decoded.
        """
        body = self._get(keys)
        return self._database.run(body) if body else []

    async def amget(self, keys: Sequence[str]) -> list[Document | None]:
        """Read documents, as `mget` does.

        Args:
            keys: Their keys.

        Returns:
            A new document for each key, in the order of the keys, or None where there is
            none.

        Raises:
            CorruptStoreError: If a row cannot be decoded.
        """
        body = self._get(keys)
        return await self._database.arun(body) if body else []

    def mset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write documents, over those that are there.

        Args:
            key_value_pairs: Keys and documents. Of equal keys the last one stays.

        Raises:
            InvalidDocumentError: If a key or document cannot be stored. Nothing is written.
        """
        if body := self._set(key_value_pairs):
            self._database.run(body, write=True)

    async def amset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write documents, as `mset` does.

        Args:
            key_value_pairs: Keys and documents. Of equal keys the last one stays.

        Raises:
            InvalidDocumentError: If a key or document cannot be stored. Nothing is written.
        """
        if body := self._set(key_value_pairs):
            await self._database.arun(body, write=True)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete documents. Keys that are not there are passed over.

        Args:
            keys: Their keys.
        """
        if body := self._delete(keys):
            self._database.run(body, write=True)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Delete documents, as `mdelete` does.

        Args:
            keys: Their keys.
        """
        if body := self._delete(keys):
            await self._database.arun(body, write=True)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Go through the keys in order, page by page.

        No transaction is open between two keys, so the loop may write and delete; a key
        that is written meanwhile may or may not be seen.

        Args:
            prefix: What the keys begin with, to the letter. None or `""` for all.

        Yields:
            The keys.
        """
        last: str | None = None
        while page := self._database.run(self._keys(prefix, last)):
            yield from page
            last = page[-1]

    async def ayield_keys(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, prefix: str | None = None
    ) -> AsyncIterator[str]:
        """Go through the keys in order, as `yield_keys` does.

        Args:
            prefix: What the keys begin with, to the letter. None or `""` for all.

        Yields:
            The keys.
        """
        last: str | None = None
        while page := await self._database.arun(self._keys(prefix, last)):
            for key in page:
                yield key
            last = page[-1]

    def _get(self, keys: Sequence[str]) -> Callable[[Connection], list[Document | None]] | None:
        wanted = list(keys)
        check_keys(wanted)
        if not wanted:
            return None
        unique = list(dict.fromkeys(wanted))

        def body(connection: Connection) -> list[Document | None]:
            rows = {
                row[0]: row
                for start in range(0, len(unique), CHUNK)
                for row in self._rows(connection, unique[start : start + CHUNK])
            }
            # Decoded once for each place: no two results are the same object.
            return [decode(*rows[key]) if key in rows else None for key in wanted]

        return body

    def _rows(self, connection: Connection, keys: list[str]) -> list[_Row]:
        columns = DOCUMENTS.c
        query = select(columns.key, columns.page_content, columns.id, columns.metadata)
        try:
            return [tuple(row) for row in connection.execute(query.where(*self._these(keys)))]
        except OperationalError as error:
            if "Could not decode" not in str(error.orig):
                raise
            if len(keys) > 1:  # which of them is it?
                return [row for key in keys for row in self._rows(connection, [key])]
            msg = (
                f"The docstore's row for key {keys[0]!r} cannot be decoded: it is not "
                "UTF-8. Delete the key and add its source document again."
            )
            raise CorruptStoreError(msg) from error

    def _set(
        self, key_value_pairs: Sequence[tuple[str, Document]]
    ) -> Callable[[Connection], None] | None:
        # Everything is encoded, or refused, before the transaction begins.
        pairs = dict(key_value_pairs)
        check_keys(pairs)
        rows = [
            {"namespace": self.namespace, **encode(key, document)}
            for key, document in pairs.items()
        ]
        if not rows:
            return None

        def body(connection: Connection) -> None:
            insert = upsert(connection, DOCUMENTS)
            statement = insert.on_conflict_do_update(
                index_elements=[DOCUMENTS.c.namespace, DOCUMENTS.c.key],
                set_={
                    name: insert.excluded[name] for name in ("page_content", "id", "metadata")
                },
            )
            # One statement run for many rows: no limit of variables to keep to.
            connection.execute(statement, rows)

        return body

    def _delete(self, keys: Sequence[str]) -> Callable[[Connection], None] | None:
        unique = list(dict.fromkeys(keys))
        check_keys(unique)
        if not unique:
            return None

        def body(connection: Connection) -> None:
            for start in range(0, len(unique), CHUNK):
                these = self._these(unique[start : start + CHUNK])
                connection.execute(delete(DOCUMENTS).where(*these))

        return body

    def _keys(
        self, prefix: str | None, after: str | None
    ) -> Callable[[Connection], Sequence[str]]:
        columns = DOCUMENTS.c
        query = select(columns.key).where(columns.namespace == self.namespace)
        if prefix:
            check_keys([prefix])
            # A range, not LIKE: nothing to escape, and the primary key's index serves it.
            query = query.where(columns.key >= prefix)
            if end := _after_prefix(prefix):
                query = query.where(columns.key < end)
        if after is not None:
            query = query.where(columns.key > after)
        query = query.order_by(columns.key).limit(_PAGE)
        return lambda connection: connection.scalars(query).all()

    def _these(self, keys: list[str]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return DOCUMENTS.c.namespace == self.namespace, DOCUMENTS.c.key.in_(keys)


def _after_prefix(prefix: str) -> str | None:
    """The least text that is greater than all that begin with the prefix."""
    for index in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[index]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST_CODE_POINT:
            return prefix[:index] + chr(following)
    return None
