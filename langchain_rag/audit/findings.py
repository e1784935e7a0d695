"""What can be wrong in the stores: data, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from langchain_rag.audit.printing import plain


class FindingKind(StrEnum):
    """What is wrong."""

    UNFINISHED_CHANGE = "unfinished change"
    MISSING_CHUNK = "missing chunk"
    MISSING_VARIATIONS = "missing variations"
    MISSING_ROW = "missing row"
    MISNAMED_ROW = "misnamed row"
    DOUBLED_ROW = "doubled row"
    ORPHAN_ROW = "orphan row"
    UNKNOWN_ROW = "unknown row"
    ORPHAN_CHUNK = "orphan chunk"
    ORPHAN_VARIATIONS = "orphan variations"
    CORRUPT_RECORD = "corrupt record"
    FOREIGN_FINGERPRINT = "foreign fingerprint"
    TRACKED_NOT_STORED = "tracked, not stored"
    STORED_NOT_TRACKED = "stored, not tracked"

    @property
    def meaning(self) -> str:
        """A sentence that says what it is."""
        return _SENTENCES[self][0]

    @property
    def remedy(self) -> str:
        """A sentence that says what is done about it."""
        return _SENTENCES[self][1]


_AGAIN: Final = "The next import of the document makes it again."

_SENTENCES: Final[dict[FindingKind, tuple[str, str]]] = {
    FindingKind.UNFINISHED_CHANGE: (
        "A call that changed the document failed or was killed.",
        "repair() takes away what it left, as the next add or delete would.",
    ),
    FindingKind.MISSING_CHUNK: (
        "The manifest names a chunk that is not in the docstore.",
        f"repair() takes the chunk out, with its rows. {_AGAIN}",
    ),
    FindingKind.MISSING_VARIATIONS: (
        "The docstore lacks the texts of a chunk's variations.",
        f"repair() writes them from the rows, or takes the chunk out without them. {_AGAIN}",
    ),
    FindingKind.MISSING_ROW: (
        "The vector store lacks a variation that the manifest names.",
        "repair() embeds the stored text again.",
    ),
    FindingKind.MISNAMED_ROW: (
        "A row names another chunk or document than its manifest says.",
        "repair() writes it from the stored text.",
    ),
    FindingKind.DOUBLED_ROW: (
        "The vector store has the same variation twice.",
        "repair() deletes both and embeds the stored text again.",
    ),
    FindingKind.ORPHAN_ROW: (
        "The vector store has a variation that no manifest names.",
        "repair() deletes it.",
    ),
    FindingKind.UNKNOWN_ROW: (
        (
            "The vector store has a variation of a document of which the docstore knows "
            "nothing: another database's in the same collection, or left by a docstore that "
            "was lost. A search that meets it drops it."
        ),
        (
            "repair() leaves it. If no other database uses the collection with this "
            "namespace, repair(unknown_rows=True), or langchain-rag repair --unknown-rows, "
            "deletes it."
        ),
    ),
    FindingKind.ORPHAN_CHUNK: (
        "The docstore has a chunk that no manifest names.",
        "repair() deletes it.",
    ),
    FindingKind.ORPHAN_VARIATIONS: (
        "The docstore has variations of a chunk that no manifest names.",
        "repair() deletes them.",
    ),
    FindingKind.CORRUPT_RECORD: (
        "The docstore holds a value that was damaged, or written by something else.",
        f"repair() deletes it, with what belongs to it alone. {_AGAIN}",
    ),
    FindingKind.FOREIGN_FINGERPRINT: (
        "The document was made by other transformers than this store's.",
        "repair() leaves it as it is: import the document again.",
    ),
    FindingKind.TRACKED_NOT_STORED: (
        "The record manager says that the document is stored, and it is not.",
        "repair() deletes the record, so that index() imports the document again.",
    ),
    FindingKind.STORED_NOT_TRACKED: (
        "index() has stored the document, and the record manager does not know it.",
        "repair() records it under its source, so that the next run cleans it up if need be.",
    ),
}

ROWS: Final = frozenset({FindingKind.ORPHAN_ROW, FindingKind.UNKNOWN_ROW})
"""Rows that no manifest names."""

ORPHANS: Final = ROWS | {FindingKind.ORPHAN_CHUNK, FindingKind.ORPHAN_VARIATIONS}
"""What belongs to no document, or to none that is known."""

TRACKING: Final = frozenset({FindingKind.TRACKED_NOT_STORED, FindingKind.STORED_NOT_TRACKED})
"""Where store and record manager disagree."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        kind: What it is.
        document_id: The document that it concerns, None where that cannot be told.
        key: The docstore's key, the row's id, or the document id.
        detail: What more is known, often nothing.

    Example:
        >>> print(Finding(FindingKind.ORPHAN_ROW, "euclid", "0f6c"))
        orphan row 0f6c of document 'euclid': The vector store has a variation that no \
manifest names. repair() deletes it.
    """

    kind: FindingKind
    document_id: str | None
    key: str
    detail: str = ""

    def __str__(self) -> str:
        owner = "" if self.document_id is None else f" of document {self.document_id!r}"
        detail = f" {self.detail}" if self.detail else ""
        return plain(f"{self.kind} {self.key}{owner}: {self.sentence}{detail}")

    @property
    def sentence(self) -> str:
        """What it means, and what `repair()` does about it."""
        return f"{self.kind.meaning} {self.kind.remedy}"
