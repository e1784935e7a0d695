"""What `rag.index()` returns, and tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["added", "updated", "unchanged", "failed", "deleted"]
"""What became of a document."""


@dataclass(frozen=True, slots=True)
class IndexFailure:
    """What failed, and why.

    Attributes:
        document_id: The document, None where it has no id.
        source_id: Its source, None where it is not known.
        chunk: Key of the chunk that is indexed by its plain text; None where the document
            stays as it was before.
        reason: What happened, and what to do.
    """

    document_id: str | None
    source_id: str | None
    chunk: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class IndexEvent:
    """What became of a document, as it happens.

    Attributes:
        outcome: What.
        document_id: The document, None where it has no id, or was given before.
        source_id: Its source, None where it is not known.
        done: Documents so far, without those that were deleted.
        total: How many there are in all, None where nobody knows.
        reason: Why it failed.
    """

    outcome: Outcome
    document_id: str | None
    source_id: str | None
    done: int
    total: int | None
    reason: str | None = None


Listener: TypeAlias = Callable[[IndexEvent], object]
"""Is called with each event, in the thread that called `index()`, or its event loop."""


@dataclass(slots=True)
class IndexReport:
    """What `rag.index()` did, or with `dry_run` would do.

    Attributes:
        added: Ids of documents that are new.
        updated: Ids of documents that were there, and were written again in part or in whole.
        unchanged: Ids of documents that are stored as they are.
        deleted: Ids of documents that the clean-up deleted.
        failed: What failed, and why.
        duplicates: How many documents said the same as one before of the same source, and
            were left out.
        llm_calls: Calls of language models. In a dry run: calls that would be made, if every
            answer is usable.
        input_tokens: Tokens of their prompts, as the models count them; None where none
            says. In a dry run: about how many the prompts would have.
        output_tokens: Tokens of their answers; the same.
        cache_hits: Answers of models that were in the variation cache.
        embeddings: Texts that were embedded. In a dry run an estimate, since it is not known
            how many questions a model will ask, and what is in the embedding cache counts.
        embedding_cache_hits: Texts whose vectors were in the embedding cache.
        rows_written: Rows written to the wrapped vector store. In a dry run an estimate too.
        rows_deleted: Rows deleted from it by changes, without those of deleted documents.
        seconds: Seconds by phase. Phases of different batches overlap: together they may take
            longer than the whole, which is `"total"`.
        cleanup_left_out: Why nothing was cleaned up although it was asked for; None
            otherwise.
        notes: What else one should know, a sentence each.
        dry_run: Whether nothing was done.
    """

    added: list[str] = field(default_factory=list[str])
    updated: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    failed: list[IndexFailure] = field(default_factory=list[IndexFailure])
    duplicates: int = 0
    llm_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_hits: int = 0
    embeddings: int = 0
    embedding_cache_hits: int = 0
    rows_written: int = 0
    rows_deleted: int = 0
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    cleanup_left_out: str | None = None
    notes: list[str] = field(default_factory=list[str])
    dry_run: bool = False

    @property
    def num_added(self) -> int:
        """Documents that are new."""
        return len(self.added)

    @property
    def num_updated(self) -> int:
        """Documents that were there and were written again."""
        return len(self.updated)

    @property
    def num_skipped(self) -> int:
        """Documents with nothing to do: stored as they are, or given twice."""
        return len(self.unchanged) + self.duplicates

    @property
    def num_deleted(self) -> int:
        """Documents that were deleted."""
        return len(self.deleted)

    @property
    def num_failed(self) -> int:
        """Documents that failed, in whole or in part."""
        named = {failure.document_id for failure in self.failed}
        nameless = sum(failure.document_id is None for failure in self.failed)
        return len(named - {None}) + nameless

    @property
    def ok(self) -> bool:
        """Whether nothing failed, and nothing was left out."""
        return not self.failed and self.cleanup_left_out is None

    def as_dict(self) -> dict[str, int]:
        """Return what LangChain's `index()` returns."""
        return {
            "num_added": self.num_added,
            "num_updated": self.num_updated,
            "num_skipped": self.num_skipped,
            "num_deleted": self.num_deleted,
        }

    def __str__(self) -> str:
        """Return it as lines to print."""
        counts: list[tuple[int, str]] = [
            (self.num_added, "added"),
            (self.num_updated, "updated"),
            (self.num_skipped, "unchanged"),
            (self.num_deleted, "deleted"),
            (self.num_failed, "failed"),
        ]
        said = ", ".join(f"{number:,} {what}" for number, what in counts if number)
        about = "about " if self.dry_run else ""
        costs = [
            f"{self.llm_calls:,} LLM calls",
            *_tokens(self.input_tokens, self.output_tokens),
            f"{self.cache_hits:,} answers from the cache",
            f"{about}{self.embeddings:,} texts embedded",
            f"{self.embedding_cache_hits:,} vectors from the cache",
            f"{about}{self.rows_written:,} rows written",
        ]
        took = f" in {self.seconds['total']:.1f} s" if "total" in self.seconds else ""
        first = "dry run, nothing was done: " if self.dry_run else ""
        lines = [f"{first}{said or 'nothing to do'}{took}", ", ".join(costs)]
        if self.cleanup_left_out:
            lines.append(f"Nothing was cleaned up: {self.cleanup_left_out}")
        lines += self.notes
        lines += [_line(failure) for failure in self.failed[:10]]
        if len(self.failed) > 10:
            lines.append(f"... and {len(self.failed) - 10} more failures, in `failed`")
        return "\n".join(lines)


def _tokens(*numbers: int | None) -> list[str]:
    if None in numbers:
        return [] if numbers[0] is None else [f"about {numbers[0]:,} tokens in"]
    return [f"{numbers[0]:,} tokens in, {numbers[1]:,} out"]


def _line(failure: IndexFailure) -> str:
    who = "a document" if failure.document_id is None else failure.document_id
    if failure.source_id is not None:
        who = f"{who} of {failure.source_id}"
    what = "" if failure.chunk is None else f", chunk {failure.chunk} (by its plain text)"
    return f"failed: {who}{what}: {failure.reason}"
