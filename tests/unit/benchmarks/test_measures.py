from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._measures import (
    Passage,
    SpanScores,
    distinct,
    ndcg_at,
    recall_at,
    reciprocal_rank,
    span_scores,
    within,
)

PASSAGES = st.builds(
    lambda source, start, length: Passage(source, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 30),
    st.integers(1, 10),
)


def test_a_ranking_is_measured():
    ranked = ["a", "b", "c", "d"]
    assert recall_at(2, ranked, {"b", "d"}) == 0.5
    assert recall_at(4, ranked, {"b", "d"}) == 1
    assert recall_at(3, ranked, {"e"}) == 0
    assert reciprocal_rank(ranked, {"c", "d"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranked, {"e"}) == 0
    gain = 1 / log2(3) + 1 / log2(5)
    assert ndcg_at(10, ranked, {"b", "d"}) == pytest.approx(gain / (1 + 1 / log2(3)))
    assert ndcg_at(3, ranked, {"d"}) == 0
    assert ndcg_at(10, ranked, {"a"}) == 1
    # With more that are relevant than are looked at, the best ranking has 1.
    assert ndcg_at(2, ["a", "b"], {"a", "b", "c"}) == 1


def test_names_are_kept_once():
    assert distinct(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_spans_are_compared():
    evidence = [Passage("a", 10, 20), Passage("a", 30, 40)]
    found = [Passage("a", 5, 15), Passage("a", 12, 18), Passage("b", 30, 40)]
    # 10 to 18 of the evidence, in 26 characters, 3 of which were returned twice.
    assert span_scores(evidence, found) == SpanScores(8 / 20, 8 / 26, 8 / (20 + 26 - 8))
    assert span_scores(evidence, evidence) == SpanScores(1, 1, 1)
    assert span_scores(evidence, []) == SpanScores(0, 0, 0)


@given(st.lists(PASSAGES, min_size=1, max_size=6), st.lists(PASSAGES, max_size=6))
def test_spans_are_compared_by_characters(evidence, found):
    def characters(passages):
        return [(one.source, place) for one in passages for place in range(one.start, one.end)]

    wanted, returned = set(characters(evidence)), characters(found)
    both = len(wanted & set(returned))
    assert span_scores(evidence, found) == SpanScores(
        both / len(wanted),
        both / len(returned) if returned else 0,
        both / (len(wanted) + len(returned) - both),
    )


def test_the_best_that_fit_are_kept():
    found = [Passage("a", 5, 10), Passage("b", 0, 10), Passage("c", 0, 1)]
    assert within(8, found) == [Passage("a", 5, 10), Passage("b", 0, 3)]
    assert within(5, found) == [Passage("a", 5, 10)]
    assert within(99, found) == found
    assert within(5, []) == []
