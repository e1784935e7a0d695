"""What the docstore holds: manifests, intents, chunks and the texts of their variations.

Each record is a LangChain `Document` whose metadata is plain JSON, so any
`BaseStore[str, Document]` serves. Reading trusts nothing: a value that is not exactly what
was written raises `CorruptStoreError` with its key. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag.errors import CorruptStoreError
from langchain_rag.lifecycle.codec import decode
from langchain_rag.lifecycle.identity import StorageKeys, chunk_key
from langchain_rag.lifecycle.layout import Layout
from langchain_rag.lifecycle.manifest import ChunkEntry, Intent, Manifest

FORMAT: Final = 1
"""Version of the records' format; a reader refuses one that it does not know."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk as the docstore holds it.

    Attributes:
        key: Chunk key.
        document_id: Its document.
        content: Its text.
        ordinal: How many equal texts stand before it in the document.
        metadata: Its metadata, encoded.
        whole: Whether it is its document, uncut.
        fan_out: How many variations it has.
    """

    key: str
    document_id: str
    content: str
    ordinal: int
    metadata: dict[str, Any]
    whole: bool
    fan_out: int

    def public(self) -> Document:
        """Return the chunk as a search returns it, sharing nothing with the store."""
        return document_of(
            self.content,
            decode(self.metadata),
            self.document_id if self.whole else self.key,
        )


@dataclass(frozen=True, slots=True)
class Variation:
    """What is embedded and searched for a chunk.

    Attributes:
        kind: Its kind.
        transformer: Class name of the transformer that made it, None where none did.
        text: Its text.
        extra: Encoded metadata that it has beside the chunk's.
    """

    kind: str
    transformer: str | None
    text: str
    extra: dict[str, Any]


Record: TypeAlias = Manifest | Intent | ChunkRecord | list[Variation]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a value that the docstore could not decode.

    Attributes:
        error: What it raised.
    """

    error: Exception


def write_manifest(manifest: Manifest) -> Document:
    """Make the record of a manifest."""
    return _record(
        document_id=manifest.document_id,
        source_id=manifest.source_id,
        content_hash=manifest.content_hash,
        metadata_hash=manifest.metadata_hash,
        parent_fingerprint=manifest.parent_fingerprint,
        chunk_fingerprint=manifest.chunk_fingerprint,
        whole=manifest.whole,
        revision=manifest.revision,
        ignored=list(manifest.ignored),
        chunks=[_write_entry(entry) for entry in manifest.chunks],
        layout=_write_layout(manifest.layout),
    )


def read_manifest(key: str, value: object) -> Manifest:
    """Read the record of a manifest.

    Args:
        key: Where it stands, for the error.
        value: What the docstore returned.

    Returns:
        The manifest.

    Raises:
        CorruptStoreError: It is no manifest.
    """

    def read(data: dict[str, Any], _: str) -> Manifest:
        return Manifest(
            document_id=_str(data["document_id"]),
            source_id=_optional(data["source_id"]),
            content_hash=_str(data["content_hash"]),
            metadata_hash=_str(data["metadata_hash"]),
            parent_fingerprint=_optional(data["parent_fingerprint"]),
            chunk_fingerprint=_optional(data["chunk_fingerprint"]),
            whole=_bool(data["whole"]),
            chunks=tuple(_read_entry(entry) for entry in _list(data["chunks"])),
            revision=_int(data["revision"]),
            ignored=tuple(_str(key) for key in _list(data["ignored"])),
            layout=_read_layout(data["layout"]),
        )

    return _read(key, value, "a manifest", read)


def write_intent(intent: Intent) -> Document:
    """Make the record of an intent."""
    return _record(
        document_id=intent.document_id,
        writer=intent.writer,
        version=intent.version,
        entries=[_write_entry(entry) for entry in intent.entries],
        overwrites=list(intent.overwrites),
        chunk_fingerprint=intent.chunk_fingerprint,
    )


def read_intent(key: str, value: object) -> Intent:
    """Read the record of an intent; see `read_manifest`."""

    def read(data: dict[str, Any], _: str) -> Intent:
        return Intent(
            document_id=_str(data["document_id"]),
            writer=_str(data["writer"]),
            version=_optional(data["version"]),
            entries=tuple(_read_entry(entry) for entry in _list(data["entries"])),
            overwrites=tuple(_str(item) for item in _list(data["overwrites"])),
            chunk_fingerprint=_optional(data["chunk_fingerprint"]),
        )

    return _read(key, value, "an intent", read)


def write_chunk(chunk: ChunkRecord) -> Document:
    """Make the record of a chunk."""
    record = _record(
        key=chunk.key,
        document_id=chunk.document_id,
        ordinal=chunk.ordinal,
        whole=chunk.whole,
        fan_out=chunk.fan_out,
        metadata=chunk.metadata,
    )
    record.page_content = chunk.content
    return record


def read_chunk(key: str, value: object) -> ChunkRecord:
    """Read the record of a chunk; see `read_manifest`."""

    def read(data: dict[str, Any], content: str) -> ChunkRecord:
        return ChunkRecord(
            key=_str(data["key"]),
            document_id=_str(data["document_id"]),
            content=content,
            ordinal=_int(data["ordinal"]),
            metadata=_encoded(data["metadata"]),
            whole=_bool(data["whole"]),
            fan_out=_int(data["fan_out"]),
        )

    return _read(key, value, "a chunk", read)


def write_variations(chunk: str, variations: list[Variation], content: str) -> Document:
    """Make the record of a chunk's variations, from which a repair needs no LLM.

    Args:
        chunk: Chunk key.
        variations: All of them, in order.
        content: The chunk's text; a variation that is a part of it is not written out again.

    Returns:
        The record.
    """
    return _record(
        chunk=chunk,
        variations=[
            {
                "kind": variation.kind,
                "transformer": variation.transformer,
                "text": _place(variation.text, content),
                "extra": variation.extra,
            }
            for variation in variations
        ],
    )


def read_variations(key: str, value: object, content: str | None) -> list[Variation]:
    """Read the record of a chunk's variations; see `read_manifest`.

    Args:
        key: Where it stands, for the error.
        value: What the docstore returned.
        content: The chunk's text; None where it is lost, and what is a part of it is empty.
    """

    def read(data: dict[str, Any], _: str) -> list[Variation]:
        if _str(data["chunk"]) != key.rpartition("/")[2]:
            message = f"it is of chunk {data['chunk']!r}"
            raise ValueError(message)
        rows = [_dict(row) for row in _list(data["variations"])]
        return [
            Variation(
                kind=_str(row["kind"]),
                transformer=_optional(row["transformer"]),
                text=_at_place(row["text"], content),
                extra=_encoded(row["extra"]),
            )
            for row in rows
        ]

    return _read(key, value, "the variations of a chunk", read)


class Reader:
    """Reads the records of one namespace, and believes none.

    A record may be well formed and yet not be ours: damaged, copied from another key, put
    there by somebody. Keys are hashes of what the records say, so each is asked whether it is
    the one that belongs there.

    Args:
        keys: Of the namespace.
    """

    def __init__(self, keys: StorageKeys) -> None:
        self._keys = keys

    def manifest(self, key: str, value: object) -> Manifest:
        """Read a manifest; see `read_manifest`.

        Raises:
            CorruptStoreError: It is no manifest, or one of another document.
        """
        manifest = read_manifest(key, value)
        if key != self._keys.manifest(manifest.document_id):
            raise corrupt(key, "a manifest", _names(manifest.document_id))
        return manifest

    def intent(self, key: str, value: object) -> Intent:
        """Read an intent; see `manifest`."""
        intent = read_intent(key, value)
        if key != self._keys.intent(intent.document_id):
            raise corrupt(key, "an intent", _names(intent.document_id))
        return intent

    def chunk(self, key: str, value: object) -> ChunkRecord:
        """Read a chunk; see `read_manifest`.

        Raises:
            CorruptStoreError: It is no chunk, or one of another key, namespace or text.
        """
        chunk = read_chunk(key, value)
        true_key = chunk_key(
            self._keys.namespace, chunk.document_id, chunk.content, chunk.ordinal
        )
        if chunk.key != true_key or key != self._keys.chunk(true_key):
            problem = (
                f"it says that it is chunk {chunk.key!r} of document {chunk.document_id!r}, "
                "which its namespace and its text do not confirm"
            )
            raise corrupt(key, "a chunk", problem)
        return chunk

    def record(self, key: str, value: object) -> Record:
        """Read a record of the kind that its key says; see `read_manifest`."""
        if key.startswith(self._keys.manifests):
            return self.manifest(key, value)
        if key.startswith(self._keys.intents):
            return self.intent(key, value)
        if key.startswith(self._keys.chunks):
            return self.chunk(key, value)
        return read_variations(key, value, None)


def _names(document_id: str) -> str:
    return f"it names document {document_id!r}, which belongs elsewhere"


def _place(text: str, content: str) -> str | list[int] | None:
    """Say where a text stands in the chunk's, which takes less room than to say it again."""
    if text == content:
        return None
    start = content.find(text)
    return text if start < 0 else [start, start + len(text)]


def _at_place(place: object, content: str | None) -> str:
    if isinstance(place, str):
        return place
    start, end = (0, None) if place is None else (_int(offset) for offset in _list(place))
    if content is None:
        return ""
    if end is None:
        return content
    if not 0 <= start < end <= len(content):
        message = f"a variation is at {start}:{end} of a text of {len(content)} characters"
        raise ValueError(message)
    return content[start:end]


def _record(**data: Any) -> Document:
    return document_of("", {"format": FORMAT, **data})


def _write_entry(entry: ChunkEntry) -> dict[str, Any]:
    written: dict[str, Any] = {
        "key": entry.key,
        "metadata_hash": entry.metadata_hash,
        "kinds": [[kind, count] for kind, count in entry.kinds],
    }
    if entry.incomplete:  # seldom, so not a word in every entry
        written["incomplete"] = True
    if entry.given:
        written["given"] = True
    if entry.parents:
        written["parents"] = list(entry.parents)
    if entry.level:
        written["level"] = entry.level
    return written


def _read_entry(value: object) -> ChunkEntry:
    data = _dict(value)
    return ChunkEntry(
        key=_str(data["key"]),
        metadata_hash=_str(data["metadata_hash"]),
        kinds=tuple((_str(kind), _int(count)) for kind, count in _list(data["kinds"])),
        incomplete=_bool(data.get("incomplete", False)),
        given=_bool(data.get("given", False)),
        parents=tuple(_str(parent) for parent in _list(data.get("parents", []))),
        level=_int(data.get("level", 0)),
    )


def _write_layout(layout: Layout | None) -> dict[str, Any] | None:
    if layout is None:
        return None
    joints = [[gap, overlap] for gap, overlap in layout.joints]
    return {"joints": joints, "tail": layout.tail, "keys": list(layout.keys)}


def _read_layout(value: object) -> Layout | None:
    if value is None:
        return None
    data = _dict(value)
    joints = tuple((_str(gap), _int(overlap)) for gap, overlap in _list(data["joints"]))
    if any(overlap < 0 for _, overlap in joints):
        message = "chunks overlap by less than nothing"
        raise ValueError(message)
    return Layout(
        joints=joints,
        tail=_str(data["tail"]),
        keys=tuple(_str(key) for key in _list(data["keys"])),
    )


def _read(key: str, value: object, what: str, read: Callable[[dict[str, Any], str], R]) -> R:
    problem, cause = "it is no Document", None
    if isinstance(value, Unreadable):
        cause = value.error
        what_it_is = (
            "" if isinstance(cause, CorruptStoreError) else f" ({type(cause).__name__})"
        )
        problem = f"the docstore cannot decode it{what_it_is}"
    elif isinstance(value, Document):
        found = value.metadata.get("format")
        try:
            if found == FORMAT:
                return read(value.metadata, value.page_content)
            problem = f"its format is {found!r}, and this version reads {FORMAT}"
        except (KeyError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
    raise corrupt(key, what, problem) from cause


def corrupt(key: str, what: str, problem: str) -> CorruptStoreError:
    """Make the error for a record that cannot be used.

    Args:
        key: Where it stands.
        what: What it should be.
        problem: What it is.
    """
    message = (
        f"The docstore's value at {key!r} should be {what}, but {problem}. If something else "
        "writes to this docstore, give langchain-rag one of its own; if the value was "
        "damaged, call repair() and import the document again."
    )
    return CorruptStoreError(message)


def _checked(value: object, kind: type[R]) -> R:
    if type(value) is not kind:
        message = f"expected {kind.__name__}, found {type(value).__name__}"
        raise TypeError(message)
    return value


def _str(value: object) -> str:
    return _checked(value, str)


def _bool(value: object) -> bool:
    return _checked(value, bool)


def _int(value: object) -> int:
    return _checked(value, int)


def _list(value: object) -> list[Any]:
    items: list[Any] = _checked(value, list)  # pyright: ignore[reportUnknownVariableType]
    return items


def _dict(value: object) -> dict[str, Any]:
    items: dict[str, Any] = _checked(value, dict)  # pyright: ignore[reportUnknownVariableType]
    return items


def _encoded(value: object) -> dict[str, Any]:
    metadata = _dict(value)
    decode(metadata)  # here, where an error can name the key
    return metadata


def _optional(value: object) -> str | None:
    return None if value is None else _str(value)
