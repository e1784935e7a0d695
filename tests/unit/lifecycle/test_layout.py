"""A document's text is put together from its chunks to the letter, or not at all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from langchain_rag.lifecycle.layout import Layout, layout_of

# Words of few letters, so that texts repeat themselves, and much white space.
WORDS = st.sampled_from(["a", "ab", "aba", "b", ".", "é", "🙂", "c d", "aaaa"])
GAPS = st.sampled_from([" ", "  ", "\n", "\n\n", "\n \n", ", ", ".", ""])
TEXTS = st.lists(st.tuples(WORDS, GAPS), max_size=25).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
SIZES = st.tuples(st.integers(1, 30), st.integers(0, 29)).map(
    lambda pair: {"chunk_size": pair[0], "chunk_overlap": min(pair)}
)
KEEP = st.sampled_from([False, True, "start", "end"])
RECURSIVE = st.builds(
    lambda sizes, **options: RecursiveCharacterTextSplitter(**sizes, **options),
    SIZES,
    keep_separator=KEEP,
    strip_whitespace=st.booleans(),
)
CHARACTER = st.builds(
    lambda sizes, **options: CharacterTextSplitter(**sizes, **options),
    SIZES,
    separator=st.sampled_from(["\n\n", "\n", " ", ".", "", "a"]),
    keep_separator=KEEP,
    strip_whitespace=st.booleans(),
)


def cut(splitter: Any, text: str) -> list[str]:
    # As the lifecycle does, which drops blank chunks.
    return [chunk for chunk in splitter.split_text(text) if chunk.strip()]


@given(TEXTS, RECURSIVE | CHARACTER)
def test_what_splitters_cut_is_joined_to_the_letter(text: str, splitter: Any) -> None:
    chunks = cut(splitter, text)
    layout = layout_of(text, chunks, ["key"])
    if layout is None:
        return
    assert layout.join(chunks) == text
    assert layout.keys == ("key",)
    starts = layout.starts(chunks)
    assert [text[s : s + len(c)] for s, c in zip(starts, chunks, strict=True)] == chunks
    assert starts == sorted(starts)


@given(TEXTS, SIZES, st.booleans())
@example("aba aba ", {"chunk_size": 3, "chunk_overlap": 2}, True)
@example("a  a  a  ", {"chunk_size": 3, "chunk_overlap": 3}, True)
@example("ab  a  b ", {"chunk_size": 3, "chunk_overlap": 3}, True)
@example("b\naaaa", {"chunk_size": 2, "chunk_overlap": 2}, True)
@example("é, é, ", {"chunk_size": 2, "chunk_overlap": 2}, True)
def test_nothing_but_white_space_is_lost_so_there_is_a_layout(
    text: str, sizes: dict[str, Any], strip: bool
) -> None:
    splitter = RecursiveCharacterTextSplitter(
        **sizes, keep_separator=True, strip_whitespace=strip
    )
    layout = layout_of(text, cut(splitter, text))
    assert layout is not None


@given(TEXTS, st.lists(st.integers(0, 60)))
def test_starts_of_pieces_that_do_not_overlap_are_their_own(text: str, cuts: list[int]) -> None:
    """Known starts: a text cut at any places, of which nothing is lost."""
    edges = sorted({0, len(text), *(min(place, len(text)) for place in cuts)})
    pairs = list(pairwise(edges))
    kept = [(start, text[start:end]) for start, end in pairs if text[start:end].strip()]
    blank = all(text[start:end].strip() for start, end in pairs)
    layout = layout_of(text, [piece for _, piece in kept])
    assert layout is not None
    if blank:
        assert layout.starts([piece for _, piece in kept]) == [start for start, _ in kept]


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_any_texts_at_all_give_the_text_or_none(text: str, chunks: list[str]) -> None:
    layout = layout_of(text, chunks)
    if layout is not None:
        assert layout.join(chunks) == text
        assert [
            text[s : s + len(c)] for s, c in zip(layout.starts(chunks), chunks, strict=True)
        ] == chunks


CASES: dict[str, tuple[str, list[str], list[int] | None]] = {
    "side by side": ("one two", ["one", "two"], [0, 4]),
    "overlapping": ("one two three", ["one two", "two three"], [0, 4]),
    "one inside another": ("one two three", ["one two three", "two"], [0, 4]),
    "edges": ("  one two  ", ["one", "two"], [2, 6]),
    "whole": ("one", ["one"], [0]),
    "again inside the first": (
        "foo bar foo\nfoo and so on",
        ["foo bar foo", "foo and", "so on"],
        [0, 12, 20],
    ),
    "equal to the end of the one before": (
        "foo bar foo\nfoo\nand so on",
        ["foo bar foo", "foo", "and so on"],
        [0, 12, 16],
    ),
    "equal lines": ("yes\nyes\nyes", ["yes", "yes", "yes"], [0, 4, 8]),
    "lines of one letter": ("a\nb\nc\nd", ["a", "b", "c", "d"], [0, 2, 4, 6]),
    "two at one place": ("aba aba ", ["aba", "ab", "aba"], [0, 4, 4]),
    "in another order": ("one two", ["two", "one"], None),
    "changed": ("one two", ["One", "two"], None),
    "a third is missing": ("one two three", ["one", "two"], None),
    "no chunk": ("one", [], None),
    "no text": ("", [], []),
    "white space": ("  \n ", [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    text, chunks, starts = CASES[name]
    layout = layout_of(text, chunks)
    if starts is None:
        assert layout is None
    else:
        assert layout is not None
        assert layout.join(chunks) == text
        assert layout.starts(chunks) == starts


def test_a_long_text_that_repeats_itself() -> None:
    line = "to be or not to be"
    chunks = [" ".join([line] * 9), *[line] * 10]
    text = "\n".join(chunks)
    layout = layout_of(text, chunks)
    assert layout is not None
    assert layout.starts(chunks) == [
        sum(len(chunk) + 1 for chunk in chunks[:n]) for n in range(len(chunks))
    ]


def test_texts_of_which_no_order_adds_up_take_no_long_time() -> None:
    # Each could be at hundreds of places; the end of the text is at none.
    assert layout_of("a " * 1000 + "b" * 1000, ["a", "a a", "a a a"] * 300) is None
    assert layout_of("a" * 3000, ["a"] * 2000) is None


def test_long_chunks_of_one_letter_take_no_long_time() -> None:
    # Where one could begin, each of its characters but the first is as it should be.
    size = 100_000
    chunks = ["a" * size, "a" * size, "ab" + "a" * (size - 2), "a" * size]
    assert layout_of("a" * 4 * size, chunks) is None


def test_joining_takes_as_many_texts_as_there_are_joints() -> None:
    layout = Layout((("", 0), (" ", 0)), "")
    with pytest.raises(ValueError, match="argument"):
        layout.join(["one"])
    with pytest.raises(ValueError, match="argument"):
        layout.starts(["one", "two", "three"])
