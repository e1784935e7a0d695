"""What is computed of a ranking, and of the passages that were found."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: `text[start:end]` of the one that is named."""

    source: str
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class SpanScores:
    """How much of what answers a question was found, and with how much else."""

    recall: float
    precision: float
    iou: float


def recall_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return the share of the relevant that is among the first k."""
    return len(set(ranked[:k]) & set(relevant)) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return one by the rank of the first that is relevant; 0 if none is."""
    return next((1 / n for n, found in enumerate(ranked, 1) if found in relevant), 0.0)


def ndcg_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return the normalised discounted cumulative gain (Järvelin and Kekäläinen 2002).

    Each is relevant or not, and in the ranking once.
    """
    gains = [1 / math.log2(n + 1) for n in range(1, k + 1)]
    found = sum(gain for gain, one in zip(gains, ranked, strict=False) if one in relevant)
    return found / sum(gains[: len(relevant)])


def distinct(names: Iterable[str]) -> list[str]:
    """Return each name once, where it comes first."""
    return list(dict.fromkeys(names))


def span_scores(evidence: Collection[Passage], found: Sequence[Passage]) -> SpanScores:
    """Compare what was found with what answers (Smith and Troynikov 2024), by characters.

    Their measures count tokens; their own programme counts characters, as this one does. A
    character that was found twice was returned twice: it counts twice in what precision and IoU
    are divided by, so that redundancy costs.
    """
    wanted = sum(map(len, _union(evidence)))
    both = sum(map(len, _union(_overlaps(evidence, found))))
    returned = sum(map(len, found))
    return SpanScores(
        recall=both / wanted,
        precision=both / returned if returned else 0.0,
        iou=both / (wanted + returned - both),
    )


def within(characters: int, found: Sequence[Passage]) -> list[Passage]:
    """Return what fits into a number of characters, the best first; the last one is cut."""
    kept: list[Passage] = []
    for passage in found:
        end = min(passage.end, passage.start + characters)
        kept.append(Passage(passage.source, passage.start, end))
        characters -= end - passage.start
        if not characters:
            break
    return kept


def _overlaps(ours: Iterable[Passage], theirs: Collection[Passage]) -> Iterable[Passage]:
    for one in ours:
        for other in theirs:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if one.source == other.source and start < end:
                yield Passage(one.source, start, end)


def _union(passages: Iterable[Passage]) -> list[Passage]:
    """Merge passages that overlap, so that no character is in two of them."""
    merged: list[Passage] = []
    for passage in sorted(passages, key=lambda one: (one.source, one.start)):
        last = merged[-1] if merged else None
        if last is None or last.source != passage.source or last.end < passage.start:
            merged.append(passage)
        else:
            merged[-1] = Passage(last.source, last.start, max(last.end, passage.end))
    return merged
