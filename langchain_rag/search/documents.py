"""Chunks and whole documents by id, without a search."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag._flow import Flow
from langchain_rag.lifecycle import codec
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.records import ChunkRecord
from langchain_rag.lifecycle.sources import check_list, check_text
from langchain_rag.lifecycle.write import Lifecycle


def get_by_ids(lifecycle: Lifecycle, ids: Sequence[str]) -> Flow[list[Document]]:
    """Read documents and chunks.

    Args:
        lifecycle: Whose chunks are read.
        ids: Document ids, which give all chunks of the document, and chunk ids, in any mix.

    Returns:
        The chunks in the order of the ids; nothing for ids that are not there.

    Raises:
        InvalidDocumentError: The ids are one text, or one of them is none.
    """
    check_list(ids)
    wanted = list(dict.fromkeys(check_text(id_) for id_ in ids))
    manifests, chunks = yield from lifecycle.records.manifests_and_chunks(wanted)
    named: dict[str, None] = {}
    for id_ in wanted:
        if id_ in manifests:
            named.update((entry.key, None) for entry in manifests[id_].read().chunks)
        else:
            named[id_] = None
    asked = set(wanted)
    found = yield from lifecycle.records.chunks(key for key in named if key not in asked)
    found |= {key: chunk.read() for key, chunk in chunks.items() if key in named}
    # Two ids may be one key, such as a UUID in capital letters.
    unique = {found[key].key: found[key] for key in named if key in found}
    return [chunk.public() for chunk in unique.values()]


logger = logging.getLogger(__name__)

_ATTEMPTS: Final = 3
"""How often a document is read that changes meanwhile."""

_BETWEEN: Final = "\n\n"
"""Between chunks that are no parts of their document's text."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A document, put together.

    Attributes:
        document_id: Its id.
        text: Its text; to the letter where its chunks are parts of it, else its chunks one
            below the other.
        metadata: Its metadata, encoded.
        starts: Where each chunk begins in the text, by chunk key.
    """

    document_id: str
    text: str
    metadata: dict[str, Any]
    starts: dict[str, int]

    def public(self) -> Document:
        """Return it as a search returns it."""
        return document_of(self.text, codec.decode(self.metadata), self.document_id)


def wholes(lifecycle: Lifecycle, document_ids: Sequence[str]) -> Flow[dict[str, Whole]]:
    """Read documents.

    Args:
        lifecycle: Whose documents.
        document_ids: Their ids.

    Returns:
        The documents by id; none for one that is gone.

    Raises:
        CorruptStoreError: A record cannot be read.
    """
    found: dict[str, Whole] = {}
    missing, seen = list(dict.fromkeys(document_ids)), dict[str, Manifest]()
    for _ in range(_ATTEMPTS):
        manifests = yield from lifecycle.records.manifests(missing)
        # A document that is the same as before, and lacks a chunk, will not get it back.
        seen, before = manifests, seen
        manifests = {id_: one for id_, one in manifests.items() if before.get(id_) != one}
        keys = {id_: [entry.key for entry in one.lowest] for id_, one in manifests.items()}
        stored = yield from lifecycle.records.stored_chunks(
            key for some in keys.values() for key in some
        )
        for id_, manifest in manifests.items():
            if all(key in stored for key in keys[id_]):
                found[id_] = _whole(manifest, [stored[key].read() for key in keys[id_]])
        missing = [id_ for id_ in manifests if id_ not in found]
        if not missing:
            break
    for id_ in seen:
        if id_ not in found:
            logger.warning("Document %r was left out: it lacks a chunk. See verify().", id_)
    return found


def _whole(manifest: Manifest, chunks: list[ChunkRecord]) -> Whole:
    texts = [chunk.content for chunk in chunks]
    layout = manifest.layout
    if layout is None or len(layout.joints) != len(chunks):
        starts: list[int] = []
        length = 0
        for text in texts:
            starts.append(length)
            length += len(text) + len(_BETWEEN)
        text = _BETWEEN.join(texts)
    else:
        starts, text = layout.starts(texts), layout.join(texts)
    return Whole(
        manifest.document_id,
        text,
        _shared(chunks, None if layout is None else layout.keys),
        {chunk.key: start for chunk, start in zip(chunks, starts, strict=True)},
    )


def _shared(chunks: Sequence[ChunkRecord], keys: Sequence[str] | None) -> dict[str, Any]:
    """Return the metadata that all chunks have from their document."""
    if not chunks:
        return {}
    first = chunks[0].metadata
    return {
        key: value
        for key, value in first.items()
        if (keys is None or key in keys)
        and all(chunk.metadata.get(key) == value for chunk in chunks)
    }
