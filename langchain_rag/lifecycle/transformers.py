"""The two transformers that a document goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from langchain_core.documents import BaseDocumentTransformer

from langchain_rag.document_transformers import fingerprint_of

Fingerprints: TypeAlias = tuple[str | None, str | None]
"""Identity of both transformers, None for one that has none that can be relied on."""

NO_TRANSFORMER: Final = "none"
"""Fingerprint of a transformer that is not there."""


@dataclass(frozen=True, slots=True)
class Transformers:
    """The two stages that a document goes through.

    Attributes:
        parent: Cuts documents into chunks; None keeps them whole.
        chunk: Makes the variations of a chunk; None searches the chunk itself.
        namespace: Namespace of the store.
        counts_as: Fingerprints that stand for theirs, where what they make counts as made by
            others.
    """

    parent: BaseDocumentTransformer | None
    chunk: BaseDocumentTransformer | None
    namespace: str
    counts_as: Fingerprints | None = None

    @property
    def fingerprints(self) -> Fingerprints:
        """Their identity."""
        return self.counts_as or (_fingerprint(self.parent), _fingerprint(self.chunk))


def _fingerprint(transformer: BaseDocumentTransformer | None) -> str | None:
    return NO_TRANSFORMER if transformer is None else fingerprint_of(transformer)
