"""What `stats()` returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from langchain_rag.audit._report import Report
from langchain_rag.audit._tables import Table


@dataclass(frozen=True, slots=True)
class StatsReport(Report):
    """What is stored, as `stats()` counts it.

    Attributes:
        documents: Source documents.
        sources: Distinct sources.
        chunks: Chunks.
        variations: Variations of each kind.
        current: Documents made by this store's transformers.
        foreign: Documents made by others.
        unknown: Documents for which that cannot be told.
        doubtful: Documents that the next import makes again, after a crash or a repair.
        unfinished: Changes that are under way or were interrupted.
        unreadable: Manifests that are corrupt; `verify()` says which.
        characters: Length of all chunks.
        rows: Rows of this store in the vector store, None where it cannot list.
        foreign_rows: Rows of the vector store that are not langchain-rag's.
        seconds: How long it took.
    """

    documents: int
    sources: int
    chunks: int
    variations: dict[str, int]
    current: int
    foreign: int
    unknown: int
    doubtful: int
    unfinished: int
    unreadable: int
    characters: int
    rows: int | None
    foreign_rows: int
    seconds: float = field(compare=False)

    @property
    def ok(self) -> bool:
        """True: it counts, and judges nothing."""
        return True

    @property
    def summary(self) -> str:
        """Everything in a line."""
        return (
            f"{self.documents:,} documents of {self.sources:,} sources, "
            f"{self.chunks:,} chunks, {sum(self.variations.values()):,} variations"
        )

    @property
    def table(self) -> Table:
        """The numbers."""
        kinds = sorted(self.variations.items())
        lines: list[tuple[object, ...]] = [
            ("documents", f"{self.documents:,}"),
            ("- by this store's transformers", f"{self.current:,}"),
            ("- by other transformers", f"{self.foreign:,}"),
            ("- by transformers without a fingerprint", f"{self.unknown:,}"),
            ("- to be made again by the next import", f"{self.doubtful:,}"),
            ("sources", f"{self.sources:,}"),
            ("chunks", f"{self.chunks:,}"),
            ("characters of chunks", f"{self.characters:,}"),
            ("rows", "cannot be listed" if self.rows is None else f"{self.rows:,}"),
            ("rows that are not langchain-rag's", f"{self.foreign_rows:,}"),
            ("unfinished changes", f"{self.unfinished:,}"),
            ("corrupt manifests", f"{self.unreadable:,}"),
            *((f"variations: {kind}", f"{number:,}") for kind, number in kinds),
        ]
        return Table.of(("what", "number"), lines)
