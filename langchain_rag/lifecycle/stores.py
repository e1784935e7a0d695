"""Reads on both stores, and writes to the wrapped one, within what they take in one call.

Writes to the docstore go through a claim (`langchain_rag.lifecycle.claims`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.documents import Document
from langchain_core.stores import BaseStore, InMemoryBaseStore
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import Flow, call
from langchain_rag.backends.registry import is_known
from langchain_rag.errors import ConfigurationError, CorruptStoreError
from langchain_rag.lifecycle.batches import MAX_RECORDS, batched
from langchain_rag.lifecycle.records import Unreadable
from langchain_rag.lifecycle.rows import Rows

_OURS_AND_LANGCHAIN: Final = ("langchain_rag.", "langchain_core.", "langchain_classic.")

CHUNK_STORE: Final = "langchain_rag.vectorstores.rag.RAGVectorStore"
"""Our own store, which stands above this room and cannot be imported here."""


_DECODING: Final = (
    ArithmeticError,
    AttributeError,
    CorruptStoreError,
    ImportError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What decoding a damaged value raises, in any docstore; what is wrong with the store itself (a
lost connection, a full disk) is of other kinds."""


class Stores:
    """The wrapped vector store and the docstore.

    No call is made for an empty list, and none with more than the stores can take.

    Args:
        vectorstore: Holds the variations.
        docstore: Holds everything else.

    Attributes:
        rows: The vector store's rows, and what is known of it.
        any_thread: Whether both may be used in any thread, which a store of the user's that
            holds a connection of its own may not bear.

    Raises:
        ConfigurationError: One of them is not what it has to be.
    """

    def __init__(self, vectorstore: VectorStore, docstore: BaseStore[str, Document]) -> None:
        _check_types(vectorstore, docstore)
        self.vectorstore = vectorstore
        self.docstore = docstore
        self.rows = Rows(vectorstore)
        self.any_thread = is_known(vectorstore) and (
            type(docstore).__module__.startswith(_OURS_AND_LANGCHAIN)
        )

    def mget(self, keys: Sequence[str]) -> Flow[list[object]]:
        """Read records, None where there is none, in the order of the keys.

        A record that the docstore cannot decode comes as `Unreadable`; it does not keep the
        others from being read.
        """
        found: list[object] = []
        for batch in batched(keys, MAX_RECORDS):
            found += yield from self._mget(batch)
        return found

    def _mget(self, keys: list[str]) -> Flow[list[object]]:
        try:
            values = yield from call(self.docstore.mget, self.docstore.amget, keys)
            return list[object](values)
        except ConfigurationError:
            raise  # a ValueError, but the docstore as such cannot be read
        except _DECODING as error:
            if isinstance(error, NotImplementedError):
                # Is it the method that is not there, or what a value names?
                yield from call(self.docstore.mget, self.docstore.amget, list[str]())
            if len(keys) == 1:
                return [Unreadable(error)]
        # Which of them is it?
        middle = len(keys) // 2
        first = yield from self._mget(keys[:middle])
        return first + (yield from self._mget(keys[middle:]))

    def keys(self, prefix: str) -> Flow[list[str]]:
        """List the keys that begin with a prefix."""
        return keys_of(self.docstore, prefix)

    def delete_variations(self, ids: Sequence[str]) -> Flow[None]:
        """Delete variations; ids that are not there are no error. See `Rows.delete`."""
        return self.rows.delete(ids)


def keys_of(docstore: BaseStore[str, Document], prefix: str) -> Flow[list[str]]:
    """List the keys of a docstore that begin with a prefix.

    Args:
        docstore: The docstore.
        prefix: The prefix.
    """

    def list_keys() -> list[str]:
        if isinstance(docstore, InMemoryBaseStore):
            # Another thread may write while we look; a copy is made in one step.
            return [key for key in list(docstore.store) if key.startswith(prefix)]
        return [str(key) for key in docstore.yield_keys(prefix=prefix)]

    async def alist_keys() -> list[str]:
        # LangChain declares an async generator in a way that type checkers misread.
        found: Any = docstore.ayield_keys(prefix=prefix)
        return [str(key) async for key in found]

    return (yield from call(list_keys, alist_keys))


def _check_types(vectorstore: object, docstore: object) -> None:
    if not isinstance(vectorstore, VectorStore):
        message = f"vectorstore must be a VectorStore, not {type(vectorstore).__name__}."
        raise ConfigurationError(message)
    kinds = type(vectorstore).__mro__
    if CHUNK_STORE in {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds}:
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
