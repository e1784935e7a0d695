"""What `verify()`, `repair()` and `stats()` return: reports that print as lines and a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from langchain_rag.audit.findings import Finding, FindingKind
from langchain_rag.audit.printing import MAX_ROWS, Table, plain


class Report:
    """Something that prints as a line and a table, also in a notebook."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is left to do."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """Everything in a line."""
        raise NotImplementedError

    @property
    def counts(self) -> dict[FindingKind, int]:
        """How many findings there are of each kind; none where nothing is judged."""
        return {}

    @property
    def notes(self) -> list[str]:
        """What else one should know, a sentence each."""
        return []

    @property
    def table(self) -> Table | None:
        """The details, None where there are none."""
        raise NotImplementedError

    @property
    def explained(self) -> list[str]:
        """What the kinds of findings mean, a line each."""
        return []

    @property
    def lines(self) -> list[str]:
        """All that stands above the table, safe to print: summary, notes, what kinds mean."""
        return [plain(line) for line in (self.summary, *self.notes, *self.explained)]

    def __str__(self) -> str:
        table = self.table
        parts = [*self.lines, *([] if table is None else ["", table.text()])]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        table = self.table
        first, *rest = self.lines
        lines = [f"<p><b>{escape(first)}</b></p>", *(f"<p>{escape(line)}</p>" for line in rest)]
        return "".join([*lines, *([] if table is None else [table.html()])])

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, which JSON can say."""
        made: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        said = {"ok": self.ok, "summary": self.summary, "notes": self.notes}
        return {**said, "counts": self.counts, **made}

    def json(self) -> str:
        """Return all of it as JSON."""
        return json.dumps(self.as_dict(), indent=2)


@dataclass(frozen=True, slots=True)
class VerifyReport(Report):
    """What `verify()` found.

    Attributes:
        findings: What is wrong.
        documents: How many manifests were read.
        rows: How many rows of this store the vector store has, None where it cannot list.
        foreign_rows: Rows of the vector store that are not langchain-rag's.
        busy: Documents that a call is writing; they were left out.
        unchecked: What could not be checked, a sentence each.
        seconds: How long it took.
        waiting: Documents that lost something, in a crash or by a repair, and that the next
            import makes again; they are no findings.
    """

    findings: tuple[Finding, ...]
    documents: int
    rows: int | None
    foreign_rows: int
    busy: tuple[str, ...]
    unchecked: tuple[str, ...]
    seconds: float
    waiting: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def counts(self) -> dict[FindingKind, int]:
        """How many findings there are of each kind."""
        return _counts(self.findings)

    @property
    def document_ids(self) -> list[str]:
        """The documents that something was found about, each once."""
        named = (finding.document_id for finding in self.findings)
        return list(dict.fromkeys(id_ for id_ in named if id_ is not None))

    @property
    def summary(self) -> str:
        """Everything in a line."""
        what = "clean" if self.ok else f"{_said(self.findings)} found"
        rows = "" if self.rows is None else f" and {self.rows:,} rows"
        return f"{what}: {self.documents:,} documents{rows} in {self.seconds:.1f} s"

    @property
    def notes(self) -> list[str]:
        """What else one should know, a sentence each."""
        return [
            *_again(self.waiting),
            *self.unchecked,
            *_busy(self.busy),
            *_foreign(self.foreign_rows),
        ]

    @property
    def explained(self) -> list[str]:
        """What the kinds of findings mean, a line each."""
        return _explained(self.counts)

    @property
    def table(self) -> Table | None:
        """The findings."""
        return _table(self.findings)


@dataclass(frozen=True, slots=True)
class RepairReport(Report):
    """What `repair()` did.

    Attributes:
        repaired: What was wrong, and is not any more.
        left: What is left: foreign fingerprints, unknown rows where `unknown_rows` was not
            given, and what is of the documents in `busy`.
        reimport: Documents that lost text; the next import makes them again, and only them.
        rows_written: Rows embedded and written to the vector store.
        rows_deleted: Ids of rows deleted from it, at most: those of a chunk whose record is
            gone are among them, there or not.
        busy: Documents that another call was writing; repair again when it has returned.
        unchecked: What could not be checked, a sentence each.
        seconds: How long it took.
        llm_calls: Always 0.
    """

    repaired: tuple[Finding, ...]
    left: tuple[Finding, ...]
    reimport: tuple[str, ...]
    rows_written: int
    rows_deleted: int
    busy: tuple[str, ...]
    unchecked: tuple[str, ...]
    seconds: float
    llm_calls: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is left."""
        return not self.left and not self.busy

    @property
    def counts(self) -> dict[FindingKind, int]:
        """How many findings of each kind were repaired."""
        return _counts(self.repaired)

    @property
    def summary(self) -> str:
        """Everything in a line."""
        done = f"{_said(self.repaired)} repaired" if self.repaired else "nothing to repair"
        left = f", {len(self.left):,} left" if self.left else ""
        return (
            f"{done}{left}: {self.rows_written:,} rows embedded and written, "
            f"{self.rows_deleted:,} deleted, {self.llm_calls} LLM calls in {self.seconds:.1f} s"
        )

    @property
    def notes(self) -> list[str]:
        """What else one should know, a sentence each."""
        return [*_again(self.reimport), *self.unchecked, *_busy(self.busy)]

    @property
    def explained(self) -> list[str]:
        """What is left, a line for each kind."""
        return _explained(_counts(self.left))

    @property
    def table(self) -> Table | None:
        """What was repaired, and before it what is left."""
        return _table((*self.left, *self.repaired))


def _counts(findings: Sequence[Finding]) -> dict[FindingKind, int]:
    found = Counter(finding.kind for finding in findings)
    return {kind: found[kind] for kind in FindingKind if kind in found}


def _again(document_ids: Sequence[str]) -> list[str]:
    if not document_ids:
        return []
    names = ", ".join(repr(id_) for id_ in document_ids[:3])
    more = f" and {len(document_ids) - 3:,} more" if len(document_ids) > 3 else ""
    return [f"Import again, since something was lost, or failed: {names}{more}."]


def _said(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{kind} ({number:,})" for kind, number in _counts(findings).items())


def _explained(counts: dict[FindingKind, int]) -> list[str]:
    return [f"{kind}: {kind.meaning} {kind.remedy}" for kind in counts]


def _busy(document_ids: Sequence[str]) -> list[str]:
    if not document_ids:
        return []
    return [f"{len(document_ids):,} documents were being written, and were left out."]


def _foreign(rows: int) -> list[str]:
    return [f"{rows:,} rows are not langchain-rag's, and were left out."] if rows else []


def _table(findings: Sequence[Finding]) -> Table | None:
    if not findings:
        return None
    rows = [
        (finding.kind, finding.document_id or "", finding.key, finding.detail)
        for finding in findings[:MAX_ROWS]
    ]
    header = ("kind", "document", "key", "detail")
    return Table(header, Table.of(header, rows).rows, len(findings))


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
