"""How many hits to ask for, and which chunk each stands for."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK
from langchain_rag.search.collapse import (
    MAX_FIRST_FAN_OUT,
    by_rank_sum,
    first_ask,
    first_hits,
    next_ask,
)

counts = st.integers(1, 50)


def hit(key: object) -> Document:
    return Document("x", metadata={CHUNK: key})


@given(st.lists(st.sampled_from("abcde"), max_size=20))
def test_first_hits_keep_the_order_and_the_first_value(keys: Sequence[str]) -> None:
    found = first_hits((hit(key), place) for place, key in enumerate(keys))
    assert list(found) == list(dict.fromkeys(keys))
    assert [one.value for one in found.values()] == [keys.index(key) for key in found]
    assert [one.rank for one in found.values()] == [keys.index(key) + 1 for key in found]


def test_rows_that_are_not_ours_are_left_out() -> None:
    rows = [(Document("x"), 1), (hit(None), 2), (hit(3), 3), (hit("a"), 4)]
    assert {key: (one.value, one.rank) for key, one in first_hits(rows).items()} == {
        "a": (4, 1)
    }


@given(st.lists(st.sampled_from("abcde"), max_size=20), st.sets(st.sampled_from("abcde")))
def test_sums_of_ranks(keys: Sequence[str], good: set[str]) -> None:
    hits = [(hit(key), place) for place, key in enumerate(keys)]
    found = by_rank_sum(hits, lambda row: row.metadata[CHUNK] in good)
    kept = [key for key in keys if key in good]
    sums = {
        key: sum(1 / (60 + rank) for rank, other in enumerate(kept, start=1) if other == key)
        for key in kept
    }
    # Python's sort keeps the order of equals: that of the first hits.
    assert list(found) == sorted(sums, key=lambda key: -sums[key])
    assert all(one.value == keys.index(key) for key, one in found.items())


@given(counts, st.integers(0, 100))
def test_the_first_ask_suffices_where_the_fan_out_is_known(k: int, fan_out: int) -> None:
    asked = first_ask(k, fan_out)
    assert asked >= k
    assert asked <= k * MAX_FIRST_FAN_OUT
    if fan_out <= MAX_FIRST_FAN_OUT:
        # At worst, whole chunks come one after the other.
        assert len({place // max(fan_out, 1) for place in range(asked)}) >= k


@given(st.integers(1, 10_000), counts, counts)
def test_the_next_ask_is_for_more(asked: int, k: int, fan_out: int) -> None:
    assert next_ask(asked, k, fan_out) > asked
    assert next_ask(asked, k, fan_out) >= first_ask(k, fan_out)
