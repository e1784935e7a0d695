"""Chunks by id, without a search."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from langchain_rag._flow import Flow
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
    keys = lifecycle.keys
    manifest_keys = [keys.manifest(id_) for id_ in wanted]
    chunk_keys = [keys.chunk(id_) for id_ in wanted]
    found = yield from lifecycle.stores.mget([*manifest_keys, *chunk_keys])
    values = dict(zip([*manifest_keys, *chunk_keys], found, strict=True))
    by_id: list[list[str]] = []
    for manifest_key, chunk_key in zip(manifest_keys, chunk_keys, strict=True):
        value = values[manifest_key]
        if value is None:
            by_id.append([chunk_key])
        else:
            manifest = lifecycle.reader.manifest(manifest_key, value)
            by_id.append([keys.chunk(entry.key) for entry in manifest.chunks])
    ordered = list(dict.fromkeys(key for group in by_id for key in group))
    missing = [key for key in ordered if key not in values]
    read = yield from lifecycle.stores.mget(missing)
    values.update(zip(missing, read, strict=True))
    return [
        lifecycle.reader.chunk(key, values[key]).public()
        for key in ordered
        if values[key] is not None
    ]
