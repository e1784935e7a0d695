"""Which rows of the wrapped store are there, and whom they name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor

from langchain_rag._flow import Flow, call
from langchain_rag._reserved import CHUNK, DOCUMENT, NAMESPACE
from langchain_rag.backends import backend_of
from langchain_rag.backends.backend import Row
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.stores import Stores

PAGE: Final = 500
"""Rows that are looked at together."""


class Owner(NamedTuple):
    """Whom a row names; None for what it does not say.

    Attributes:
        chunk: Chunk key.
        document: Document id.
    """

    chunk: str | None
    document: str | None


@dataclass(slots=True)
class Listing:
    """The rows of one namespace.

    Attributes:
        owners: Whom each row names, by its id.
        doubled: Ids that stand there twice.
        foreign: How many rows are not langchain-rag's.
    """

    owners: dict[str, Owner] = field(default_factory=dict[str, Owner])
    doubled: set[str] = field(default_factory=set[str])
    foreign: int = 0


@dataclass(slots=True)
class Found:
    """Rows that were asked for by id.

    Attributes:
        owners: Whom each row names, by its id; the rows that are there.
        documents: The rows themselves, where the store can give them.
        doubled: Ids that came twice.
    """

    owners: Mapping[str, Owner] = field(default_factory=dict[str, Owner])
    documents: Mapping[str, Document] = field(default_factory=dict[str, Document])
    doubled: set[str] = field(default_factory=set[str])


class Rows:
    """Reads rows without a search: an approximate index may miss what is there.

    Args:
        stores: The wrapped store is among them.
        namespace: Rows of others are not seen.

    Attributes:
        can_list: Whether the store can list its rows.
        can_get: Whether it can give rows by id; False from when it turns out that it cannot.
    """

    def __init__(self, stores: Stores, namespace: str) -> None:
        self._store = stores.vectorstore
        self._exists = stores.rows.exists
        self._backend = backend_of(stores.vectorstore)
        self._namespace = namespace
        self.can_list = self._backend.rows is not None
        self.can_get = True

    def listed(self) -> Flow[Listing | None]:
        """List the rows of the namespace; None where the store cannot list.

        Holds an id and two names for each row, and no texts.
        """
        if self._backend.rows is None:
            return None
        listing = Listing()
        if not (yield from self._exists()):
            return listing
        names: dict[str, str] = {}  # thousands of rows name the same document
        pages = _Pages(self._backend.rows, self._backend.arows)
        while page := (yield from call(pages.next, pages.anext)):
            for id_, metadata in page:
                if not isinstance(metadata.get(CHUNK), str):
                    listing.foreign += 1
                elif (metadata.get(NAMESPACE) or "") == self._namespace:
                    if id_ in listing.owners:
                        listing.doubled.add(id_)
                    listing.owners[id_] = Owner(
                        *(name and names.setdefault(name, name) for name in _owner(metadata))
                    )
        return listing

    def needed(self) -> Flow[Listing | None]:
        """List the rows if they cannot be had by id, so that many are looked up in one list."""
        return None if self.can_get else (yield from self.listed())

    def get(self, ids: Sequence[str]) -> Flow[Found | None]:
        """Read rows by id; None where the store can neither give nor list rows."""
        if not ids or not (yield from self._exists()):
            return Found()
        found: list[Document] = []
        for batch in batched(ids, min(PAGE, self._backend.max_rows)):
            if self.can_get:
                part = yield from self._get(batch)
                found += part or []
        if self.can_get:
            owners: dict[str, Owner] = {}
            doubled: set[str] = set()
            for row in found:
                id_ = str(_id_of(row))
                doubled |= {id_} if id_ in owners else set()
                owners[id_] = _owner(row.metadata)
            return Found(owners, {str(_id_of(row)): row for row in found}, doubled)
        listing = yield from self.listed()
        if listing is None:
            return None
        wanted = set(ids)
        owners = {id_: owner for id_, owner in listing.owners.items() if id_ in wanted}
        return Found(owners, {}, listing.doubled & wanted)

    def _get(self, ids: list[str]) -> Flow[list[Document] | None]:
        store = self._store
        try:
            found = yield from call(store.get_by_ids, store.aget_by_ids, ids)
        except NotImplementedError:
            found = None
        if found is None or any(_id_of(row) is None for row in found):
            # Rows without ids cannot be told apart.
            self.can_get = False
            return None
        return found


class _Pages:
    """Pages of rows for either driver; an empty one is the end."""

    def __init__(self, rows: Any, arows: Any) -> None:
        self._rows, self._arows = rows, arows
        self._iterator: Iterator[Row] | None = None
        self._aiterator: AsyncIterator[Row] | None = None

    def next(self) -> list[Row]:
        if self._iterator is None:
            self._iterator = iter(self._rows())
        return list(islice(self._iterator, PAGE))

    async def anext(self) -> list[Row]:
        if self._arows is None:
            return await run_in_executor(None, self.next)
        if self._aiterator is None:
            self._aiterator = aiter(self._arows())
        page: list[Row] = []
        async for row in self._aiterator:
            page.append(row)
            if len(page) == PAGE:
                break
        return page


def _id_of(row: Document) -> object:
    # Qdrant's class gives the id as metadata only.
    return row.metadata.get("_id") if row.id is None else row.id


def _owner(metadata: Mapping[str, Any]) -> Owner:
    chunk, document = metadata.get(CHUNK), metadata.get(DOCUMENT)
    return Owner(
        chunk if isinstance(chunk, str) else None,
        document if isinstance(document, str) else None,
    )
