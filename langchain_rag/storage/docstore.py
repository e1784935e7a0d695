"""A docstore in a SQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_core.documents import Document
from langchain_core.stores import BaseStore

from langchain_rag._flow import Flow, arun, call, call_as, run
from langchain_rag.storage import _docstore_statements as statements
from langchain_rag.storage._claims import SQLClaim, claimed
from langchain_rag.storage._codec import check_keys
from langchain_rag.storage._database import Database
from langchain_rag.storage._full_text import FullText, FullTextIndex
from langchain_rag.storage._migrations import DOCSTORE
from langchain_rag.storage.engine import place_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from langchain_rag.storage.engine import AnyEngine


_ATTEMPTS: Final = 3
"""How often a search builds the index anew that others let fall behind meanwhile."""


class SQLDocStore(BaseStore[str, Document]):
    """Keeps documents in one table of a SQLite or PostgreSQL database.

    Each call is one transaction, so a call either does all that it was asked or nothing.
    The table is created by the first call. Metadata is kept as JSON; what would not read
    back the same is refused.

    With a sync engine the async methods run in LangChain's executor; with an async engine
    they are native, and the sync methods raise `ConfigurationError`.

    Attributes:
        namespace: Stores of different namespaces share the table, and nothing else.
        full_text: How the full-text index is kept, None for no index.

    Args:
        engine: A sync or async engine, best from `langchain_rag.storage.create_engine`. It
            may be the one that holds tables of your own.
        namespace: Part of every key.
        full_text: Keeps a full-text index of chunks (what a `RAGVectorStore` writes) in the
            same transactions, for `lexical_search`: the language of the texts, or a
            `FullText`. A database that was written without it is indexed by the first write
            or search. None keeps no index.

    Raises:
        ConfigurationError: If there is no stemmer for the language, or the engine would show
            each thread another database.

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

    def __init__(
        self,
        engine: AnyEngine,
        namespace: str = "",
        full_text: FullText | str | None = None,
    ) -> None:
        check_keys([namespace])
        self.namespace = namespace
        self._index = FullTextIndex(namespace, full_text)
        self.full_text = self._index.kept
        self._database = Database(engine, DOCSTORE, type(self).__name__)

    def __repr__(self) -> str:
        # Without the URL, which may hold credentials in more places than the password.
        dialect = self.engine.dialect.name
        return f"{type(self).__name__}(dialect={dialect!r}, namespace={self.namespace!r})"

    @property
    def engine(self) -> AnyEngine:
        """The engine, to dispose of at the end."""
        return self._database.engine

    @property
    def identity(self) -> tuple[object, ...]:
        """What two stores on the same rows have in common, within one process."""
        return (*place_of(self.engine), self.namespace)

    def claim(self, documents: Mapping[str, str]) -> SQLClaim:
        """Make a claim: the right to write what belongs to some documents.

        The lifecycle of a `RAGVectorStore` writes through claims, so that two calls, of one
        process or of two, never mix their versions of a document.

        Args:
            documents: What to call each document in an error, by the key that stands for it.

        Returns:
            A claim that has not been acquired.
        """
        return SQLClaim(self._database, self.namespace, documents, self._index)

    def claimed(self, keys: Sequence[str]) -> list[bool]:
        """Say of each document whether somebody is writing it.

        Args:
            keys: The keys that stand for the documents in `claim`.
        """
        return run(claimed(self._database, self.namespace, keys))

    async def aclaimed(self, keys: Sequence[str]) -> list[bool]:
        """Say of each document whether somebody is writing it; see `claimed`."""
        return await arun(claimed(self._database, self.namespace, keys))

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
        body = statements.read(self.namespace, keys)
        return self._database.run(body, single=True) if keys else []

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
        body = statements.read(self.namespace, keys)
        return await self._database.arun(body, single=True) if keys else []

    def mset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write documents, over those that are there.

        Args:
            key_value_pairs: Keys and documents. Of equal keys the last one stays.

        Raises:
            InvalidDocumentError: If a key or document cannot be stored. Nothing is written.
        """
        documents = dict(key_value_pairs)
        body = statements.write(self.namespace, documents)
        if documents:
            self._database.run(self._index.writing(documents, body), write=True)

    async def amset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write documents, as `mset` does.

        Args:
            key_value_pairs: Keys and documents. Of equal keys the last one stays.

        Raises:
            InvalidDocumentError: If a key or document cannot be stored. Nothing is written.
        """
        documents = dict(key_value_pairs)
        body = statements.write(self.namespace, documents)
        if documents:
            await self._database.arun(self._index.writing(documents, body), write=True)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete documents. Keys that are not there are passed over.

        Args:
            keys: Their keys.
        """
        body = statements.delete_keys(self.namespace, keys)
        if keys:
            self._database.run(self._index.deleting(keys, body), write=True)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Delete documents, as `mdelete` does.

        Args:
            keys: Their keys.
        """
        body = statements.delete_keys(self.namespace, keys)
        if keys:
            await self._database.arun(self._index.deleting(keys, body), write=True)

    def lexical_search(self, query: str, k: int, *, prefix: str) -> list[tuple[str, float]]:
        """Find the chunks whose words fit a query best, by BM25.

        Args:
            query: Any text; nothing in it is syntax.
            k: How many, at most.
            prefix: What the keys of the chunks begin with, up to the last slash.

        Returns:
            Keys and scores, best first, the higher the better; of equal ones that first whose
            key is less. None that has no word of the query.

        Raises:
            ConfigurationError: The store keeps no full-text index.
        """
        return run(self._lexical_search(query, k, prefix))

    async def alexical_search(
        self, query: str, k: int, *, prefix: str
    ) -> list[tuple[str, float]]:
        """Find the chunks whose words fit a query best; see `lexical_search`."""
        return await arun(self._lexical_search(query, k, prefix))

    def _lexical_search(self, query: str, k: int, prefix: str) -> Flow[list[tuple[str, float]]]:
        body = self._index.searching(query, max(k, 1), prefix)
        if k <= 0:
            return []
        database, build = self._database, self._index.build
        for _ in range(_ATTEMPTS):
            found: Any = yield from call(database.run, database.arun, body)
            if found is not None:
                return list[tuple[str, float]](found)
            yield from call_as("to_its_end", database.run, database.arun, build, write=True)

        search = self._index.searching(query, k, prefix, alone=True)

        def build_and_search(connection: Connection) -> list[tuple[str, float]]:
            build(connection)
            return search(connection) or []

        # Others write all the time who do not keep the index.
        last: Any = yield from call_as(
            "to_its_end", database.run, database.arun, build_and_search, write=True
        )
        return list[tuple[str, float]](last)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Go through the keys in order, page by page.

        No transaction is open between two keys, so the loop may write and delete; a key
        that is written meanwhile may or may not be seen.

        Args:
            prefix: What the keys begin with, to the letter. None or `""` for all.

        Yields:
            The keys.
        """
        page_after = statements.pages(self.namespace, prefix)
        last: str | None = None
        while page := self._database.run(page_after(last)):
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
        page_after = statements.pages(self.namespace, prefix)
        last: str | None = None
        while page := await self._database.arun(page_after(last)):
            for key in page:
                yield key
            last = page[-1]
