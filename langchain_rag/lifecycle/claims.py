"""The right of one call to write a document.

Two calls that write the same document at the same time would mix its versions. So each
claims the documents of a batch first, does all its writing to the docstore through the claim,
and gives it back. A docstore that other processes may write to as well has claims of its own
(`langchain_rag.storage.SQLDocStore.claim`); for any other, claims hold within this process,
and one process at a time may write.

An intent is left where a call failed or a process died; whoever claims its document next may
clear it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from langchain_core.documents import Document
from langchain_core.stores import BaseStore

from langchain_rag._flow import Flow, call, call_as
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.lifecycle.batches import MAX_RECORDS, batched

logger = logging.getLogger(__name__)

T = TypeVar("T")

left_behind: set[tuple[object, str]] = set()
"""Docstores, with the prefix of their intents, where a call of this process failed since
they were last swept. All instances on one docstore learn of it here."""

_lock = threading.Lock()
# Weakly: a claim whose holder was interrupted before it could give it back goes with it.
_writers: WeakValueDictionary[str, ProcessClaim] = WeakValueDictionary()
_documents: WeakValueDictionary[tuple[object, str], ProcessClaim] = WeakValueDictionary()


class StoreClaim(Protocol):
    """What a docstore with claims of its own gives for `claim(documents)`.

    Attributes:
        writer: A token that no other claim has.
    """

    writer: str

    def acquire(self) -> None:
        """Claim all of the documents or none."""

    async def aacquire(self) -> None:
        """Claim all of the documents or none."""

    def confirm(self) -> None:
        """Raise `ConcurrentWriteError` if the claim was lost."""

    async def aconfirm(self) -> None:
        """Raise `ConcurrentWriteError` if the claim was lost."""

    def mset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write records, or nothing if the claim was lost."""

    async def amset(self, key_value_pairs: Sequence[tuple[str, Document]]) -> None:
        """Write records, or nothing if the claim was lost."""

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete records, or nothing if the claim was lost."""

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Delete records, or nothing if the claim was lost."""

    def release(self) -> None:
        """Give the documents back; also those of an `acquire` that failed."""

    async def arelease(self) -> None:
        """Give the documents back; also those of an `acquire` that failed."""

    def abandon(self) -> None:
        """Give back what can be given back without waiting for anything."""


class ProcessClaim:
    """A claim that calls of this process respect.

    Args:
        docstore: Where the documents are.
        documents: Their ids by the keys of their manifests.
    """

    def __init__(
        self, docstore: BaseStore[str, Document], documents: Mapping[str, str]
    ) -> None:
        self.writer = uuid4().hex
        place = place_of(docstore)
        self._documents = {(place, key): id_ for key, id_ in documents.items()}
        self._held = False
        self.mset, self.amset = docstore.mset, docstore.amset
        self.mdelete, self.amdelete = docstore.mdelete, docstore.amdelete

    def acquire(self) -> None:
        """Claim all of the documents or none.

        Raises:
            ConcurrentWriteError: Another call has claimed one of them.
        """
        with _lock:
            taken = self._documents.keys() & _documents.keys()
            if not taken:
                _documents.update(dict.fromkeys(self._documents, self))
                _writers[self.writer] = self
                self._held = True
        if taken:
            raise ConcurrentWriteError.about(self._documents[taken.pop()])

    async def aacquire(self) -> None:
        """Claim all of the documents or none; see `acquire`."""
        self.acquire()

    def confirm(self) -> None:
        """Do nothing: such a claim cannot be lost."""

    async def aconfirm(self) -> None:
        """Do nothing: such a claim cannot be lost."""

    def release(self) -> None:
        """Give the documents back."""
        with _lock:
            if self._held:
                _writers.pop(self.writer, None)
                for document in self._documents:
                    _documents.pop(document, None)
                self._held = False

    async def arelease(self) -> None:
        """Give the documents back."""
        self.release()

    def abandon(self) -> None:
        """Give the documents back."""
        self.release()


class Claim:
    """Writes to the docstore for as long as the documents are this call's.

    No call is made for an empty list, and none with more than `MAX_RECORDS` records.

    Args:
        held: The claim that the docstore gave.

    Attributes:
        writer: A token that no other claim has.
    """

    def __init__(self, held: StoreClaim) -> None:
        self._held = held
        self.writer = held.writer

    def mset(self, records: Sequence[tuple[str, Document]]) -> Flow[None]:
        """Write records.

        Raises:
            ConcurrentWriteError: The claim was lost; nothing was written.
        """
        for batch in batched(records, MAX_RECORDS):
            yield from call_as("to_its_end", self._held.mset, self._held.amset, batch)

    def mdelete(self, keys: Sequence[str]) -> Flow[None]:
        """Delete records.

        Raises:
            ConcurrentWriteError: The claim was lost; nothing was deleted.
        """
        for batch in batched(keys, MAX_RECORDS):
            yield from call_as("to_its_end", self._held.mdelete, self._held.amdelete, batch)

    def confirm(self) -> Flow[None]:
        """Make sure of the claim before something outside of the docstore goes.

        Raises:
            ConcurrentWriteError: The claim was lost.
        """
        yield from call(self._held.confirm, self._held.aconfirm)


def holding(
    docstore: BaseStore[str, Document],
    documents: Mapping[str, str],
    body: Callable[[Claim], Flow[T]],
) -> Flow[T]:
    """Do something while nobody else may write some documents.

    Args:
        docstore: Where they are.
        documents: Their ids by the keys of their manifests.
        body: What to do with the claim.

    Returns:
        What the body returns.

    Raises:
        ConcurrentWriteError: Another call has claimed one of them.
    """
    held = _claim_on(docstore, documents)
    try:
        yield from call_as("to_its_end", held.acquire, held.aacquire)
        result = yield from body(Claim(held))
    except GeneratorExit:
        held.abandon()  # an event loop was closed with us in it: nothing can be awaited
        raise
    except BaseException:
        yield from _release(held)
        raise
    yield from _release(held)
    return result


def claimed(docstore: BaseStore[str, Document], keys: Sequence[str]) -> Flow[list[bool]]:
    """Say of each document whether somebody is writing it. Changes nothing.

    Args:
        docstore: Where the documents are.
        keys: The keys of their manifests.
    """
    own: Any = docstore
    if hasattr(docstore, "claimed"):
        held: list[bool] = yield from call(own.claimed, own.aclaimed, keys)
        return held
    place = place_of(docstore)
    return [(place, key) in _documents for key in keys]


def place_of(docstore: object) -> object:
    """Say what a docstore stands on, the same for two docstores on one database.

    Args:
        docstore: A docstore; those that can, say so (`SQLDocStore.identity`).
    """
    return getattr(docstore, "identity", id(docstore))


def is_writing(writer: str) -> bool:
    """Say whether a call of this process is under way, on a docstore without own claims.

    Args:
        writer: The token of its claim.
    """
    return writer in _writers


def _claim_on(docstore: BaseStore[str, Document], documents: Mapping[str, str]) -> StoreClaim:
    own: Any = getattr(docstore, "claim", None)
    claim: StoreClaim = ProcessClaim(docstore, documents) if own is None else own(documents)
    return claim


def _release(held: StoreClaim) -> Flow[None]:
    try:
        yield from call_as("to_its_end", held.release, held.arelease)
    except Exception:
        # What the call did is done, or its own error is the one to report. Whoever comes next
        # finds that the claim's holder is gone.
        logger.warning("A claim could not be given back; it lapses by itself.", exc_info=True)
    except BaseException:
        held.abandon()  # interrupted, perhaps before the driver came to it
        raise
