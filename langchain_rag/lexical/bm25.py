"""BM25 over lists of documents by term: arithmetic, no I/O.

The formula is Lucene's (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
and Beyond", 2009, with an idf that is never negative). A document's number says how long the
document is, and a term's documents are listed by how often they have it, so that nothing else
has to be read to score them.

Terms are taken from the rarest to the most frequent. As soon as all that are left could not
lift a new document among the best, the rest of them are only looked up for those that may
still be among the best: MaxScore (Turtle and Flood, "Query Evaluation: Strategies and
Optimizations", 1995), which gives the same documents and scores as reading every list.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

K1: Final = 1.2
B: Final = 0.75

LEVELS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""How often a document has a term, rounded down to one of these: beyond four times a few more
change little. What they cost is a list for each level of a term."""

MAX_TERMS: Final = 64
"""Distinct terms of a query that count: the first ones."""

LENGTH_BITS: Final = 20
"""Of a document's number, those that hold its length."""

_LONGEST: Final = (1 << LENGTH_BITS) - 1
_LOOKED_UP: Final = 400
"""Documents at most whose terms are read rather than another list."""

_PER_DOCUMENT: Final = 50
"""What reading the terms of one costs, in entries of a list."""

_SLACK: Final = 1e-9
"""More than rounding may change in a sum."""

Ids: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float64]


class Postings(Protocol):
    """What documents have which terms."""

    def documents_with(self, terms: Sequence[str]) -> dict[str, int]:
        """Say how many documents have each term; a term that none has may be left out."""
        ...

    def lists_of(self, term: str) -> Mapping[int, Ids]:
        """Return for each level in ascending order, 1 first, who has the term that often."""
        ...

    def counts_in(self, ids: Ids, terms: Sequence[str]) -> Iterable[Sequence[int]]:
        """Return for each document, in order, the level of each term, 0 where it has none."""
        ...


@dataclass(frozen=True, slots=True)
class Totals:
    """What is known of all documents together.

    Attributes:
        documents: How many there are.
        length: Terms of all of them.
    """

    documents: int
    length: int

    def idf(self, having: int) -> float:
        """Return the weight of a term that so many documents have."""
        return math.log1p((self.documents - having + 0.5) / (having + 0.5))

    def saturated(self, level: Any, ids: Ids) -> Any:
        """Return how much of a term's weight a document gets, for one or many of them."""
        mean = max(self.length / max(self.documents, 1), 1.0)
        lengths = (ids & _LONGEST).astype(np.float64)
        return level / (level + K1 * (1 - B + B * lengths / mean))


def numbered(sequence: int, length: int) -> int:
    """Make the number of a document.

    Args:
        sequence: A number that no other document has.
        length: How many terms it has.
    """
    return sequence << LENGTH_BITS | min(length, _LONGEST)


def sequence_of(number: int) -> int:
    """Return the number that no other document has.

    Args:
        number: What `numbered` made of it.
    """
    return number >> LENGTH_BITS


def length_of(number: int) -> int:
    """Return how many terms a document has.

    Args:
        number: Of the document.
    """
    return number & _LONGEST


def levels_of(count: int) -> tuple[int, ...]:
    """Return the levels that a term reaches which a document has so often.

    Args:
        count: How often.

    Example:
        >>> levels_of(5)
        (1, 2, 3, 4)
    """
    return LEVELS[: bisect_right(LEVELS, count)]


def best(
    postings: Postings, totals: Totals, query: Sequence[str], k: int
) -> list[tuple[int, float]]:
    """Find the k best documents, and those that are as good as the last of them.

    Args:
        postings: Where to look.
        totals: Of all documents there.
        query: Terms; one that is repeated counts as often.
        k: How many, at least 1.

    Returns:
        Numbers and scores, best first.
    """
    terms = _terms(postings, totals, query)
    found = _Found()
    for place, term in enumerate(terms):
        if found.threshold(k) > _at_most(terms[place:]) + _SLACK:
            return _closed(found, postings, totals, terms[place:], k)
        found.add(*_scored(postings.lists_of(term.text), totals, term.weight))
    return found.best(k)


class _Term(NamedTuple):
    having: int
    text: str
    weight: float


def _terms(postings: Postings, totals: Totals, query: Sequence[str]) -> list[_Term]:
    """The terms that any document has, the rarest first."""
    asked = Counter(query)
    distinct = list(asked)[:MAX_TERMS]
    having = postings.documents_with(distinct)
    return sorted(
        _Term(count, term, asked[term] * totals.idf(count))
        for term in distinct
        if (count := having.get(term, 0))
    )


def _at_most(terms: Sequence[_Term]) -> float:
    """What terms can give a document at most."""
    return sum(term.weight for term in terms)


def _scored(lists: Mapping[int, Ids], totals: Totals, weight: float) -> tuple[Ids, Scores]:
    ids = lists.get(1)
    if ids is None:
        return np.empty(0, np.int64), np.empty(0)
    levels = np.ones(len(ids))
    for level, having in lists.items():
        if level > 1:
            levels[_places(ids, having)] = level
    return ids, weight * totals.saturated(levels, ids)


def _places(ids: Ids, wanted: Ids) -> NDArray[np.intp]:
    """Return where wanted ids are among sorted ones; those that are not there are left out."""
    places = np.searchsorted(ids, wanted)
    places = places[places < len(ids)]
    return places[np.isin(ids[places], wanted, assume_unique=True)]


class _Found:
    """Documents with the sums of their scores, sorted by number."""

    def __init__(self) -> None:
        self.ids: Ids = np.empty(0, np.int64)
        self.scores: Scores = np.empty(0)

    def threshold(self, k: int) -> float:
        """Return what the k-th best has already."""
        if len(self.scores) < k:
            return -math.inf
        return float(np.partition(self.scores, -k)[-k])

    def add(self, ids: Ids, scores: Scores, *, only_known: bool = False) -> None:
        """Add the scores of one term."""
        places = np.searchsorted(self.ids, ids)
        there = places < len(self.ids)
        there[there] = self.ids[places[there]] == ids[there]
        self.scores[places[there]] += scores[there]
        if not only_known:
            new = ~there
            self.ids = np.insert(self.ids, places[new], ids[new])
            self.scores = np.insert(self.scores, places[new], scores[new])

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget the others."""
        self.ids, self.scores = self.ids[wanted], self.scores[wanted]

    def best(self, k: int) -> list[tuple[int, float]]:
        """Return the k best, and those that are as good as the last of them."""
        least = self.threshold(k) - _SLACK
        self.keep(self.scores >= least)
        pairs = zip(self.ids.tolist(), self.scores.tolist(), strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def _closed(
    found: _Found, postings: Postings, totals: Totals, left: Sequence[_Term], k: int
) -> list[tuple[int, float]]:
    """Finish with the documents that were found; no new one can be among the best."""
    for place, term in enumerate(left):
        rest = left[place:]
        found.keep(found.scores + _at_most(rest) >= found.threshold(k) - _SLACK)
        entries = sum(term.having for term in rest)
        if len(found.ids) <= min(_LOOKED_UP, entries // _PER_DOCUMENT):
            _look_up(found, postings, totals, rest)
            break
        lists = postings.lists_of(term.text)
        found.add(*_scored(lists, totals, term.weight), only_known=True)
    return found.best(k)


def _look_up(found: _Found, postings: Postings, totals: Totals, left: Sequence[_Term]) -> None:
    rows = list(postings.counts_in(found.ids, [term.text for term in left]))
    levels = np.array(rows, dtype=np.float64).reshape(len(found.ids), len(left))
    for place, term in enumerate(left):
        found.scores += term.weight * totals.saturated(levels[:, place], found.ids)
