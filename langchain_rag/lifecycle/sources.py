"""What the user hands in, checked before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag._reserved import RESERVED
from langchain_rag.errors import (
    DuplicateIdError,
    InvalidDocumentError,
    MissingSourceError,
    ReservedMetadataError,
)
from langchain_rag.lifecycle import codec, identity

SourceIdKey: TypeAlias = str | Callable[[Document], str | None] | None
"""Metadata key of the source, a function that gives it, or None for no sources."""

Name: TypeAlias = Callable[[str | None, str, str], str | None]
"""Given source, content hash and metadata hash of a document, returns an id for it, None for
one that is derived from all that it says."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that was found fit to be stored.

    Attributes:
        document_id: Given, or derived from what the document says.
        source_id: Its source, None where the store knows no sources.
        content: Its text.
        metadata: Its metadata, encoded.
        content_hash: Hash of the text.
        metadata_hash: Hash of the metadata.
        placed: Whether its id says where it stands, and not what it says.
    """

    document_id: str
    source_id: str | None
    content: str
    metadata: dict[str, Any]
    content_hash: str
    metadata_hash: str
    placed: bool = False

    @property
    def derived_id(self) -> str:
        """The id that `add_documents` gives it where it has none."""
        return identity.document_id(
            self.source_id, self.content, codec.canonical(self.metadata)
        )

    def copy(self) -> Document:
        """Return it as a document that shares nothing with the caller's."""
        return document_of(self.content, codec.decode(self.metadata), self.document_id)


def check_documents(
    documents: Sequence[Document],
    ids: Sequence[str | None] | None,
    source_id_key: SourceIdKey,
) -> list[SourceDocument]:
    """Check all documents of a call, and give each its identity.

    Args:
        documents: The documents.
        ids: Document ids, one for each document; None in it stands for "as if not given".
        source_id_key: Where the source of a document is.

    Returns:
        One for each document, in their order. Equal documents without an id are equal here.

    Raises:
        InvalidDocumentError: One of them cannot be stored; the message says which and why.
    """
    check_list(ids)
    ids = None if ids is None else list(ids)
    if ids is not None and len(ids) != len(documents):
        message = (
            f"{len(ids)} ids were given for {len(documents)} documents. "
            "Give one id for each document, or none at all."
        )
        raise InvalidDocumentError(message)
    given = ids if ids is not None else [None] * len(documents)
    sources = [
        check_document(document, id_, position, source_id_key)
        for position, (document, id_) in enumerate(zip(documents, given, strict=True))
    ]
    explicit: list[str] = []
    derived: set[str] = set()
    for source, document, id_ in zip(sources, documents, given, strict=True):
        if id_ is None and document.id is None:
            # Equal documents without an id are one document, and no error.
            derived.add(source.document_id)
        else:
            explicit.append(source.document_id)
    check_unique([*explicit, *derived])
    return sources


def documents_of(
    texts: Iterable[str], metadatas: Sequence[dict[str, Any] | None] | None
) -> list[Document]:
    """Make documents of plain texts.

    Args:
        texts: The texts.
        metadatas: One for each text; None, or an empty list, for no metadata, as everywhere
            in LangChain.

    Raises:
        InvalidDocumentError: There are more or fewer metadatas than texts.
    """
    listed = list(texts)
    given = list(metadatas) if metadatas else [None] * len(listed)
    if len(given) != len(listed):
        message = (
            f"{len(given)} metadatas were given for {len(listed)} texts. "
            "Give one for each text, or none at all."
        )
        raise InvalidDocumentError(message)
    return [
        Document(page_content=text, metadata=metadata or {})
        for text, metadata in zip(listed, given, strict=True)
    ]


def check_list(ids: object, name: str = "ids") -> None:
    """Refuse one text where a list of ids is due: its letters would be taken for ids.

    Args:
        ids: What the user gave.
        name: Of the argument.

    Raises:
        InvalidDocumentError: It is one text.
    """
    if isinstance(ids, str):
        message = f"{name} must be a list, not the text {ids!a}. Give [{ids!a}] instead."
        raise InvalidDocumentError(message)


def check_unique(ids: Sequence[str]) -> None:
    """Refuse a list of ids that names one twice.

    Args:
        ids: Document ids.

    Raises:
        DuplicateIdError: An id stands there twice.
    """
    seen: set[str] = set()
    for id_ in ids:
        if id_ in seen:
            message = (
                f"Document id {id_!r} was given twice in one call, and one version would "
                "overwrite the other. Give each document an id of its own."
            )
            raise DuplicateIdError(message)
        seen.add(id_)


def check_text(id_: object) -> str:
    """Refuse an id that is no text.

    Args:
        id_: What the user gave.

    Returns:
        The same.

    Raises:
        InvalidDocumentError: It is no text.
    """
    if not isinstance(id_, str):
        message = f"An id must be a text, not {id_!r}. Leave it out, or give its text."
        raise InvalidDocumentError(message)
    return id_


def check_id(id_: object) -> str:
    """Refuse an id that cannot be one.

    Args:
        id_: What the user gave.

    Returns:
        The same.

    Raises:
        InvalidDocumentError: It is no text, empty, or has characters that cannot be stored.
    """
    if not isinstance(id_, str) or not id_:
        message = f"A document id must be a text that is not empty, not {id_!r}."
        raise InvalidDocumentError(message)
    fault = codec.unstorable_text(id_)
    if fault is not None:
        message = f"Document id {id_!a} has {fault}, which cannot be stored. Give another id."
        raise InvalidDocumentError(message)
    return id_


def check_ids(ids: Sequence[str] | None) -> list[str] | None:
    """Refuse ids that cannot be those of documents.

    Args:
        ids: What the user gave, None for all documents.

    Returns:
        The same.

    Raises:
        InvalidDocumentError: They are one text, or one of them cannot be an id.
    """
    check_list(ids)
    return None if ids is None else [check_id(id_) for id_ in ids]


def check_document(
    document: object,
    id_: object,
    position: int,
    source_id_key: SourceIdKey,
    *,
    name: Name | None = None,
    ignored: frozenset[str] = frozenset(),
) -> SourceDocument:
    """Check a document, and give it its identity.

    Args:
        document: The document.
        id_: Its id if one was given, else None for its own.
        position: Its position in the call, for errors.
        source_id_key: Where its source is.
        name: Makes the id of a document that has none; by default one is derived from all
            that it says.
        ignored: Metadata keys whose change is no change.

    Returns:
        The same, checked.

    Raises:
        InvalidDocumentError: It cannot be stored; the message says why.
    """
    if not isinstance(document, Document):
        message = (
            f"Item {position} of the documents is a {type(document).__name__}, not a "
            "langchain_core Document. Use add_texts for plain texts."
        )
        raise InvalidDocumentError(message)
    if id_ is None:
        id_ = document.id
    id_ = None if id_ is None else check_id(id_)
    owner = f"document {id_!r}" if id_ is not None else f"the document at position {position}"
    fault = codec.unstorable_text(document.page_content)
    if fault is not None:
        message = (
            f"The text of {owner} has {fault}, which not every store can hold. Remove it "
            "first, for example with text.replace() or text.encode(errors='ignore')."
        )
        raise InvalidDocumentError(message)
    check_reserved(document.metadata, owner)
    metadata = codec.encode(document.metadata, owner)
    source_id = source_of(document, owner, source_id_key)
    content_hash = identity.digest(document.page_content)
    metadata_hash = identity.metadata_hash(metadata, ignored)
    place = None if id_ or name is None else name(source_id, content_hash, metadata_hash)
    return SourceDocument(
        document_id=id_
        or place
        or identity.document_id(source_id, document.page_content, codec.canonical(metadata)),
        source_id=source_id,
        content=document.page_content,
        metadata=metadata,
        content_hash=content_hash,
        metadata_hash=metadata_hash,
        placed=place is not None,
    )


def check_reserved(metadata: dict[str, Any], owner: str) -> None:
    """Refuse user metadata that has one of our keys.

    Args:
        metadata: Metadata as the user gave it.
        owner: What to call the document in an error.

    Raises:
        ReservedMetadataError: It has one.
    """
    for key in metadata:
        if key in RESERVED:
            message = (
                f"The metadata of {owner} has the key {key!r}, which belongs to "
                "langchain-rag. Rename the key."
            )
            raise ReservedMetadataError(message)


def source_of(document: Document, owner: str, source_id_key: SourceIdKey) -> str | None:
    """Return the source of a document.

    Args:
        document: The document.
        owner: What to call it in an error.
        source_id_key: Where its source is.

    Returns:
        Its source, None where the store knows no sources.

    Raises:
        InvalidDocumentError: It has none, or one that cannot be stored.
    """
    if source_id_key is None:
        return None
    if isinstance(source_id_key, str):
        found = document.metadata.get(source_id_key)
        where = f"its metadata has no {source_id_key!r}"
    else:
        where = "source_id_key(document) returned None"
        try:
            found = source_id_key(document)
        except Exception as error:
            message = f"source_id_key(document) raised {error!r} for {owner}. Correct it."
            raise MissingSourceError(message) from error
    if found is None:
        message = (
            f"The source of {owner} is not known: {where}. Add it, or construct the store "
            "with another source_id_key, or with source_id_key=None for no sources."
        )
        raise MissingSourceError(message)
    source_id = str(found)
    fault = codec.unstorable_text(source_id)
    if fault is not None:
        message = f"The source of {owner} has {fault}, which cannot be stored. Remove it."
        raise InvalidDocumentError(message)
    return source_id
