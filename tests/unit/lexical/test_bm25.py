"""The best documents are those of the formula, however few lists are read for them."""

import random

import numpy as np
import pytest

from langchain_rag.lexical import bm25
from langchain_rag.lexical.bm25 import Totals, best, length_of, levels_of, numbered, sequence_of
from tests.unit.lexical.reference import LEVELS
from tests.unit.lexical.reference import bm25 as reference


class Lists:
    """Postings of texts in memory, which count what is read."""

    def __init__(self, texts):
        self.texts = {
            numbered(place, len(terms)): terms for place, terms in enumerate(texts.values())
        }
        self.keys = dict(zip(self.texts, texts, strict=True))
        self.totals = Totals(len(texts), sum(map(len, texts.values())))
        self.read = self.looked_up = 0

    def documents_with(self, terms):
        found = {term: sum(term in text for text in self.texts.values()) for term in terms}
        return {term: count for term, count in found.items() if count}

    def lists_of(self, term):
        lists = {}
        for level in LEVELS:
            having = [id_ for id_, text in self.texts.items() if text.count(term) >= level]
            if having:
                lists[level] = np.array(having, dtype=np.int64)
        self.read += len(lists.get(1, ()))
        return lists

    def counts_in(self, ids, terms):
        self.looked_up += len(ids)
        for id_ in ids.tolist():
            counts = [self.texts[id_].count(term) for term in terms]
            yield [max((n for n in LEVELS if n <= count), default=0) for count in counts]

    def best(self, query, k):
        found = best(self, self.totals, query, k)
        return sorted(
            ((self.keys[id_], round(score, 9)) for id_, score in found),
            key=lambda pair: (-pair[1], pair[0]),
        )


def random_texts(chance, documents, words=40):
    """Texts in which some words are in nearly all and others in one."""
    weights = [1 / (rank + 1) for rank in range(words)]
    names = [f"w{n}" for n in range(words)]
    return {
        f"k{n:03}": chance.choices(names, weights, k=chance.randint(0, 30))
        for n in range(documents)
    }


@pytest.mark.parametrize("looked_up", [0, 3, 400])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_are_those_of_the_formula(monkeypatch, seed, looked_up):
    monkeypatch.setattr(bm25, "_LOOKED_UP", looked_up)
    monkeypatch.setattr(bm25, "_PER_DOCUMENT", 1)
    chance = random.Random(seed)
    texts = random_texts(chance, 120)
    lists = Lists(texts)
    for k in (1, 4, 200):
        query = [f"w{int(40 * chance.random() ** 2)}" for _ in range(chance.randint(1, 8))]
        expected = reference(texts, query, 200)
        found = lists.best(query, k)
        assert found[:k] == expected[:k]
        # And those that are as good as the last of them, so that keys can decide.
        last = expected[:k][-1][1]
        assert found == [pair for pair in expected if pair[1] >= last]


def test_frequent_terms_are_not_read_where_rare_ones_decide():
    texts = {f"k{n}": ["common"] * 3 + ["filler"] * 5 for n in range(1000)}
    texts |= {f"rare{n}": ["rare", "other", "thing", "filler"] for n in range(5)}
    texts["rare3"] = ["rare", "other", "thing", "common"]
    lists = Lists(texts)
    found = lists.best(["rare", "other", "thing", "common"], 2)
    assert found[:2] == reference(texts, ["rare", "other", "thing", "common"], 2)
    assert found[0][0] == "rare3"
    assert lists.read <= 15
    assert lists.looked_up <= 5


def test_nothing_is_found_of_nothing():
    lists = Lists({"a": ["x"], "b": []})
    assert lists.best([], 3) == []
    assert lists.best(["y"], 3) == []


def test_only_the_first_terms_of_a_long_query_count():
    texts = {"a": ["first"], "b": ["last"]}
    query = ["first", *(f"w{n}" for n in range(bm25.MAX_TERMS - 1)), "last"]
    assert [key for key, _ in Lists(texts).best(query, 3)] == ["a"]


def test_numbers_hold_a_sequence_and_a_length():
    for sequence, length in ((0, 0), (5, 7), (2**42, 2**20 - 1)):
        number = numbered(sequence, length)
        assert (sequence_of(number), length_of(number)) == (sequence, length)
        assert number < 2**63
    assert length_of(numbered(1, 2**21)) == 2**20 - 1


def test_levels_rise_ever_more_slowly():
    assert levels_of(1) == (1,)
    assert levels_of(7) == (1, 2, 3, 4, 6)
    assert levels_of(10**6) == LEVELS
