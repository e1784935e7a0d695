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
