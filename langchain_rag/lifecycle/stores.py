"""Reads, writes and deletes on the two stores, within what they can take in one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar, cast

from langchain_core.documents import Document
from langchain_core.stores import BaseStore, InMemoryBaseStore
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import Flow, call, call_to_its_end
from langchain_rag.errors import ConfigurationError, IdsIgnoredError, StoreError

T = TypeVar("T")

MAX_ROWS: Final = 5_000
"""Rows in one call: below Chroma's limit of 5,461, the lowest of the stores we know."""


CHUNK_STORE: Final = "BaseRAGVectorStore"
"""Our own store, which stands above this room and cannot be imported here."""


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut into lists of at most `size` items (`itertools.batched` comes with Python 3.12)."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


class Stores:
    """The wrapped vector store and the docstore.

    No call is made for an empty list, and none with more than `MAX_ROWS` rows.

    Args:
        vectorstore: Holds the variations.
        docstore: Holds everything else.

    Raises:
        ConfigurationError: One of them is not what it has to be.
    """

    def __init__(self, vectorstore: VectorStore, docstore: BaseStore[str, Document]) -> None:
        _check_types(vectorstore, docstore)
        self.vectorstore = vectorstore
        self.docstore = docstore

    def mget(self, keys: Sequence[str]) -> Flow[list[object]]:
        """Read records, None where there is none, in the order of the keys."""
        found: list[object] = []
        for batch in batched(keys, MAX_ROWS):
            found += yield from call(self.docstore.mget, self.docstore.amget, batch)
        return found

    def mset(self, records: Sequence[tuple[str, Document]]) -> Flow[None]:
        """Write records."""
        for batch in batched(records, MAX_ROWS):
            yield from call_to_its_end(self.docstore.mset, self.docstore.amset, batch)

    def mdelete(self, keys: Sequence[str]) -> Flow[None]:
        """Delete records."""
        for batch in batched(keys, MAX_ROWS):
            yield from call_to_its_end(self.docstore.mdelete, self.docstore.amdelete, batch)

    def keys(self, prefix: str) -> Flow[list[str]]:
        """List the keys that begin with a prefix."""

        def list_keys() -> list[str]:
            if isinstance(self.docstore, InMemoryBaseStore):
                # Another thread may write while we look; a copy is made in one step.
                keys = list(self.docstore.store)
                return [key for key in keys if key.startswith(prefix)]
            return [str(key) for key in self.docstore.yield_keys(prefix=prefix)]

        async def alist_keys() -> list[str]:
            # LangChain declares an async generator in a way that type checkers misread.
            found: Any = self.docstore.ayield_keys(prefix=prefix)
            return [str(key) async for key in found]

        return (yield from call(list_keys, alist_keys))

    def add_variations(self, rows: Sequence[Document], options: dict[str, Any]) -> Flow[None]:
        """Write variations under the ids that they carry.

        Args:
            rows: The variations; each has an id, and no two the same.
            options: Further arguments of the wrapped store's `add_documents`.

        Raises:
            IdsIgnoredError: The store answered with other ids.
        """
        store = self.vectorstore
        for batch in batched(rows, MAX_ROWS):
            ids = [str(row.id) for row in batch]
            returned = yield from call_to_its_end(
                store.add_documents, store.aadd_documents, batch, ids=ids, **options
            )
            # Some stores return nothing, which says nothing.
            if returned and list(returned) != ids:
                yield from self.delete_variations([str(id_) for id_ in returned])
                message = (
                    f"{type(store).__name__} was given the id {ids[0]!r} and answered with "
                    f"{returned[0]!r}: it does not keep ids, so what it holds could never be "
                    "changed or deleted. The rows were taken back. Wrap another store, or "
                    "configure this one to keep ids."
                )
                raise IdsIgnoredError(message)

    def delete_variations(self, ids: Sequence[str]) -> Flow[None]:
        """Delete variations; ids that are not there are no error.

        Raises:
            StoreError: The store answered False.
        """
        for batch in batched(ids, MAX_ROWS):
            try:
                yield from self._delete(batch)
            except (KeyError, ValueError) as error:
                # So some stores (FAISS) refuse ids that are not there. Any other error is
                # one, whatever is left to delete.
                present = yield from self._present(batch, error)
                if len(present) == len(batch):
                    raise
                if present:
                    yield from self._delete(present)

    def _delete(self, ids: list[str]) -> Flow[None]:
        store = self.vectorstore
        deleted = yield from call_to_its_end(store.delete, store.adelete, ids=ids)
        if deleted is False:
            message = (
                f"{type(store).__name__}.delete answered False for {len(ids)} rows, the "
                f"first {ids[0]!r}. They are still named by an intent in the docstore: find "
                "out why the store refuses, then make the call again."
            )
            raise StoreError(message)

    def _present(self, ids: list[str], error: Exception) -> Flow[list[str]]:
        store = self.vectorstore
        try:
            found = yield from call(store.get_by_ids, store.aget_by_ids, ids)
        except Exception:  # noqa: BLE001 - the first error is the one to report
            raise error from None
        known = {document.id for document in found}
        return [id_ for id_ in ids if id_ in known]


def _check_types(vectorstore: object, docstore: object) -> None:
    if not isinstance(vectorstore, VectorStore):
        message = f"vectorstore must be a VectorStore, not {type(vectorstore).__name__}."
        raise ConfigurationError(message)
    if CHUNK_STORE in {kind.__name__ for kind in type(vectorstore).__mro__}:
        message = "vectorstore is a RAGVectorStore already. Wrap the store that it wraps."
        raise ConfigurationError(message)
    name = type(docstore).__name__
    if not isinstance(docstore, BaseStore):
        message = f"docstore must be a BaseStore[str, Document], not {name}."
        raise ConfigurationError(message)
    if _holds_bytes(cast("object", docstore)):
        message = (
            f"docstore is a {name}, which holds bytes, not documents. Give "
            "langchain_classic.storage.create_kv_docstore(docstore) instead."
        )
        raise ConfigurationError(message)


def _holds_bytes(store: object) -> bool:
    # A ByteStore is a BaseStore[str, bytes] by its type parameters only, so look there.
    return any(
        bytes in getattr(base, "__args__", ())
        for ancestor in type(store).__mro__
        for base in vars(ancestor).get("__orig_bases__", ())
    )
