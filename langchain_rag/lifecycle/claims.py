"""Which documents this process is writing, and for which calls.

An intent whose writer is not known here was left by a call that failed or by a process that
died. Writers in other processes are not known here either: one process at a time may write
to a namespace.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from uuid import uuid4

from langchain_rag.errors import ConcurrentWriteError

_lock = threading.Lock()
_writers: set[str] = set()
_documents: set[tuple[object, str]] = set()

left_behind: set[tuple[object, str]] = set()
"""Docstores, with the prefix of their intents, where a call of this process failed since
they were last swept. All instances on one docstore learn of it here."""


def place_of(docstore: object) -> object:
    """Say what a docstore stands on, the same for two docstores on one database.

    Args:
        docstore: A docstore; those that can, say so (`SQLDocStore.identity`).
    """
    return getattr(docstore, "identity", id(docstore))


def is_writing(writer: str) -> bool:
    """Say whether a call of this process is under way.

    Args:
        writer: What `writing` gave it.
    """
    return writer in _writers


def conflict(document_id: str) -> ConcurrentWriteError:
    """Make the error for a document that another call is writing.

    Args:
        document_id: The document.
    """
    message = (
        f"Document {document_id!r} is being written by another call in this process. "
        "Make this call again when that one has returned."
    )
    return ConcurrentWriteError(message)


@contextmanager
def writing(docstore: object, documents: Mapping[str, str]) -> Generator[str]:
    """Claim documents for one call.

    Args:
        docstore: Where their manifests are.
        documents: Their ids by the keys of their manifests.

    Yields:
        A token for the call.

    Raises:
        ConcurrentWriteError: Another call has claimed one of them.
    """
    store = place_of(docstore)
    claims = {(store, key): id_ for key, id_ in documents.items()}
    writer = uuid4().hex
    with _lock:
        taken = claims.keys() & _documents
        if not taken:
            _documents.update(claims)
            _writers.add(writer)
    if taken:
        raise conflict(claims[taken.pop()])
    try:
        yield writer
    finally:
        with _lock:
            _writers.discard(writer)
            _documents.difference_update(claims)
