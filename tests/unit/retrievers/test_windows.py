"""Windows of sentences, against references that go through everything."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from langchain_rag.retrievers.windows import Span, Window, around, merged


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    """Sentences in order, with blanks between some of them, and before the first."""
    found: list[Span] = []
    end = 0
    for gap, length in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)))):
        found.append((end + gap, end + gap + length))
        end = found[-1][1]
    return found


@st.composite
def matches(draw: st.DrawFn) -> Span:
    start = draw(st.integers(0, 40))
    return start, start + draw(st.integers(1, 12))


def slow_around(match: Span, sentences: list[Span], size: int) -> Span:
    """Look at each sentence: whether it shares a character with the match."""
    characters = set(range(*match))
    touched = [n for n, one in enumerate(sentences) if characters & set(range(*one))]
    near = [
        one
        for n, one in enumerate(sentences)
        if touched and touched[0] - size <= n <= touched[-1] + size
    ]
    starts, ends = zip(match, *near, strict=True)
    return min(starts), max(ends)


@settings(max_examples=100)
@given(matches(), spans(), st.integers(0, 4))
@example((3, 4), [(0, 3), (4, 7)], 1)  # in the blank between two
@example((0, 12), [(0, 3), (4, 7), (8, 12)], 0)
@example((2, 5), [], 3)
def test_around(match: Span, sentences: list[Span], size: int) -> None:
    assert around(match, sentences, size) == slow_around(match, sentences, size)


def slow_merged(windows: list[Window]) -> list[Window]:
    """Join any two that share a character or touch, until none do."""
    left = list(windows)
    while True:
        pair = next(
            (
                (a, b)
                for n, a in enumerate(left)
                for b in left[n + 1 :]
                if a.owner == b.owner and a.start <= b.end and b.start <= a.end
            ),
            None,
        )
        if pair is None:
            return sorted(left, key=lambda one: one.rank)
        a, b = pair
        left = [one for one in left if one is not a and one is not b]
        start, end = min(a.start, b.start), max(a.end, b.end)
        left.append(Window(a.owner, start, end, min(a.rank, b.rank)))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("ab"), matches()), max_size=12))
def test_merged(given_: list[tuple[str, Span]]) -> None:
    windows = [Window(owner, *span, rank) for rank, (owner, span) in enumerate(given_)]
    expected = slow_merged(windows)
    assert merged(windows) == expected
    assert merged(reversed(windows)) == expected


def test_nothing_is_nothing() -> None:
    assert merged([]) == []
