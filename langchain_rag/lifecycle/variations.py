"""Variations made of what the `chunk_transformer` returned, and their rows; no I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag._reserved import CHUNK, DOCUMENT, KIND, NAMESPACE, RESERVED, TRANSFORMER
from langchain_rag.errors import RAGError, TransformerError, UnstorableMetadataError
from langchain_rag.lifecycle import codec, identity
from langchain_rag.lifecycle.drafts import DraftChunk, text_or_none
from langchain_rag.lifecycle.projection import projection
from langchain_rag.lifecycle.records import Variation
from langchain_rag.lifecycle.settings import OnError

WHOLE_CHUNK: Final = "chunk"
"""Kind of the one variation of a chunk where there is no `chunk_transformer`."""


@dataclass(frozen=True, slots=True)
class _Output:
    """What the `chunk_transformer` returned, read.

    Attributes:
        text: Its text, None where it is blank.
        kind: Its kind.
        transformer: Class name of the transformer that made it, None where none did.
        metadata: Its metadata, encoded.
        changed: Keys of the metadata in which it differs from its chunk.
    """

    text: str | None
    kind: str
    transformer: str | None
    metadata: dict[str, Any]
    changed: Collection[str]


def set_variations(
    chunks: Mapping[int, DraftChunk],
    outputs: Mapping[int, Sequence[Document]],
    made_by: str | None,
    *,
    failed: Collection[int] = (),
    on_error: OnError = "raise",
) -> dict[int, RAGError]:
    """Give the chunks of a batch the variations that the `chunk_transformer` returned.

    Blank ones are dropped, equal ones of one kind merged.

    Args:
        chunks: The chunks by their numbers; they are changed.
        outputs: What came of each.
        made_by: Class name of the transformer, for outputs that do not say; None without one.
        failed: Numbers of the chunks for which the transformer failed.
        on_error: What becomes of a chunk that fails. With `"copy"` its plain text stands in,
            beside what others made of it.

    Returns:
        What else failed, by number: nothing usable came of a chunk, or nothing storable.

    Raises:
        TransformerError: Nothing usable came of a chunk, with `on_error="raise"`.
        InvalidDocumentError: A text or metadata cannot be stored, with `on_error="raise"`.
    """
    found: dict[int, list[_Output]] = {}
    unfit: dict[int, RAGError] = {}
    for number, chunk in chunks.items():
        if number in failed:
            continue
        try:
            found[number] = _usable(chunk, outputs[number], made_by)
        except RAGError as error:
            if on_error == "raise":
                raise
            unfit[number] = error
    own = _own_keys(output for one in found.values() for output in one)
    for number, read in found.items():
        chunks[number].keep(_variations(read, own))
    if on_error == "copy":
        for number in [*failed, *unfit]:
            _stand_in(chunks[number], outputs[number])
    return unfit


def _usable(
    chunk: DraftChunk, documents: Iterable[Document], made_by: str | None
) -> list[_Output]:
    outputs = _read(chunk, documents, made_by)
    if all(output.text is None for output in outputs):
        message = (
            f"The chunk_transformer returned nothing usable for chunk {chunk.record.key!r} of "
            f"document {chunk.record.document_id!r}, so no search could find it. Let it return "
            "at least one text, for example by adding a CopyDocumentTransformer."
        )
        raise TransformerError(message)
    return outputs


def _read(
    chunk: DraftChunk, documents: Iterable[Document], made_by: str | None
) -> list[_Output]:
    owner = f"a variation of chunk {chunk.record.key!r}"
    inherited = chunk.record.metadata
    outputs: list[_Output] = []
    for document in documents:
        content, metadata = document.page_content, document.metadata
        text = codec.storable_text(content, owner) if content.strip() else None
        made = text_or_none(metadata.get(TRANSFORMER)) or made_by
        kind = text_or_none(metadata.get(KIND)) or made or WHOLE_CHUNK
        # What was handed on is the same object, if it is nothing that can be changed.
        other = {
            key: value
            for key, value in metadata.items()
            if key not in RESERVED and not (key in inherited and inherited[key] is value)
        }
        try:
            known = {**inherited, **codec.encode(other, owner)}
        except UnstorableMetadataError:
            if text is None:
                continue  # nothing of it is stored
            raise
        encoded = {key: known[key] for key in metadata if key in known}
        changed = {key for key in other if key not in inherited or inherited[key] != known[key]}
        outputs.append(_Output(text, kind, made, encoded, changed))
    return outputs


def _own_keys(outputs: Iterable[_Output]) -> Mapping[str | None, Collection[str]]:
    """Find out which metadata keys each transformer sets, rather than hands on.

    A splitter with `add_start_index` gives the first piece of a chunk the index 0, and the
    chunk may have the index 0 itself. Only the other pieces tell that the two are not the
    same, and will part when the chunk's metadata changes.
    """
    own = defaultdict[str | None, set[str]](set)
    for output in outputs:
        own[output.transformer].update(output.changed)
    return own


def _variations(
    outputs: Iterable[_Output], own: Mapping[str | None, Collection[str]]
) -> list[Variation]:
    variations: dict[tuple[str, str], Variation] = {}
    for output in outputs:
        if output.text is None:
            continue
        made_by = output.transformer
        extra = {
            key: value
            for key, value in output.metadata.items()
            if key in output.changed or key in own.get(made_by, ())
        }
        variation = Variation(output.kind, made_by, output.text, extra)
        variations.setdefault((output.kind, output.text), variation)
    return list(variations.values())


def _stand_in(chunk: DraftChunk, documents: Iterable[Document]) -> None:
    """Give a failed chunk its plain text, beside what other transformers made of it."""
    try:
        variations = _variations(_read(chunk, documents, None), {})
    except RAGError:
        variations = []  # nothing that can be stored
    content = chunk.record.content
    kept = [one for one in variations if one.kind != WHOLE_CHUNK]
    if not any(one.text == content for one in kept):
        kept.append(Variation(WHOLE_CHUNK, None, content, {}))
    chunk.keep(kept)
    chunk.incomplete = True


def rows_of(chunk: DraftChunk) -> list[Document]:
    """Make the rows of the vector store for a chunk's variations.

    Args:
        chunk: A chunk whose variations are known.

    Returns:
        One document for each variation: its id, its text, what of the metadata a store can
        filter on, and whom it belongs to.
    """
    positions = Counter[str]()
    rows: list[Document] = []
    inherited = projection(codec.decode(chunk.record.metadata))
    for variation in chunk.variations or ():
        metadata = dict(inherited)
        if variation.extra:
            metadata = projection(codec.decode({**chunk.record.metadata, **variation.extra}))
        metadata |= {
            KIND: variation.kind,
            CHUNK: chunk.record.key,
            DOCUMENT: chunk.record.document_id,
        }
        if variation.transformer is not None:
            metadata[TRANSFORMER] = variation.transformer
        if chunk.namespace:
            metadata[NAMESPACE] = chunk.namespace
        id_ = identity.variation_id(chunk.record.key, variation.kind, positions[variation.kind])
        positions[variation.kind] += 1
        rows.append(document_of(variation.text, metadata, id_))
    return rows
