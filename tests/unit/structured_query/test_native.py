"""What our translators write, and what they refuse at once, saying why."""

import datetime as dt
import math
from typing import Any

import pytest
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
)
from qdrant_client import models

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query import (
    ChromaTranslator,
    CommunityPGVectorTranslator,
    FAISSTranslator,
    InMemoryTranslator,
    LanceDBTranslator,
    MilvusTranslator,
    PGVectorStoreTranslator,
    PGVectorTranslator,
    QdrantTranslator,
)

TYPES = {"w": "whole", "n": "broken", "t": "text", "b": "truth"}
LANCE = LanceDBTranslator(types=lambda: TYPES)
ALL = [
    ChromaTranslator(),
    FAISSTranslator(),
    InMemoryTranslator(),
    LANCE,
    MilvusTranslator(),
    PGVectorStoreTranslator(),
    PGVectorTranslator(),
    CommunityPGVectorTranslator(),
    QdrantTranslator(),
]
CLOSED = [one for one in ALL if not isinstance(one, FAISSTranslator | InMemoryTranslator)]


def by_class(translators):
    return pytest.mark.parametrize("translator", translators, ids=lambda t: type(t).__name__)


def compare(name, attribute, value):
    return Comparison(Comparator(name), attribute, value)


def opposite(directive):
    return Operation(Operator.NOT, [directive])


@by_class(ALL)
def test_no_filter(translator):
    assert translator.visit_structured_query(StructuredQuery("q", None)) == ("q", {})


@by_class(ALL)
@pytest.mark.parametrize(
    ("directive", "says"),
    [
        (Operation(Operator.AND, []), "'and' with 0 arguments"),
        (
            Operation(Operator.NOT, [compare("eq", "a", 1), compare("eq", "a", 1)]),
            "'not' with 2 arguments",
        ),
    ],
)
def test_filters_that_mean_nothing(translator, directive, says):
    with pytest.raises(ConfigurationError, match=says):
        translator.visit_operation(directive)


@by_class(CLOSED)
@pytest.mark.parametrize(
    "comparison",
    [
        compare("eq", "t", ["a"]),
        compare("ne", "t", ["a"]),
        compare("lt", "w", [1]),
        compare("like", "t", ["a"]),
        compare("like", "t", 1),
        compare("contain", "t", []),
    ],
    ids=str,
)
def test_values_that_a_comparator_cannot_take(translator, comparison):
    with pytest.raises(ConfigurationError, match=f"'{comparison.attribute}'"):
        translator.visit_comparison(comparison)


@by_class([one for one in CLOSED if one is not LANCE])  # which knows what a key can hold
@pytest.mark.parametrize(
    "comparison",
    [
        compare("eq", "a", None),
        compare("in", "a", [1, None]),
        compare("eq", "a", {"deep": 1}),
        compare("lt", "a", True),
        compare("eq", "a", math.inf),
        compare("gte", "a", math.nan),
        compare("contain", "a", 17),
    ],
    ids=str,
)
def test_values_that_no_row_can_have(translator, comparison):
    with pytest.raises(ConfigurationError, match="'a'"):
        translator.visit_comparison(comparison)


@by_class(ALL)
def test_what_it_does_not_have_is_refused(translator):
    for comparator in set(Comparator) - set(translator.allowed_comparators):
        with pytest.raises(ConfigurationError, match=rf"no '{comparator}'.*'t'.*eq"):
            translator.visit_comparison(compare(comparator, "t", "a"))
        if comparator in (Comparator.CONTAIN, Comparator.LIKE):  # which have no opposite
            with pytest.raises(ConfigurationError, match=rf"no '{comparator}'.*'t'"):
                translator.visit_operation(opposite(compare(comparator, "t", "a")))


@pytest.mark.parametrize("name", ["like", "contain"])
def test_the_communitys_pgvector_has_no_not(name):
    with pytest.raises(ConfigurationError, match=f"no 'not' of '{name}'.*'t'"):
        CommunityPGVectorTranslator().visit_operation(opposite(compare(name, "t", "a")))


@by_class([PGVectorStoreTranslator(), PGVectorTranslator()])
@pytest.mark.parametrize("name", ["a key", "a.b", 'x"; DROP TABLE t', "1st", ""])
def test_names_that_postgres_cannot_take(translator, name):
    with pytest.raises(ConfigurationError, match="rename the key"):
        translator.visit_comparison(compare("eq", name, "a"))


@pytest.mark.parametrize("name", ["content", "embedding", "langchain_id"])
def test_names_that_are_columns(name):
    with pytest.raises(ConfigurationError, match=f"{name!r}.*holds something else"):
        PGVectorStoreTranslator().visit_comparison(compare("eq", name, "a"))


@pytest.mark.parametrize("text", ["50%", "a_b", "a\\b"])
def test_text_that_milvus_cannot_look_for(text):
    with pytest.raises(ConfigurationError, match="backslashes"):
        MilvusTranslator().visit_comparison(compare("contain", "t", text))


def test_a_number_that_milvus_cannot_hold():
    with pytest.raises(ConfigurationError, match="64 bits"):
        MilvusTranslator().visit_comparison(compare("lt", "n", 2**63))


def test_empty_text_in_lancedb():
    for name, value in [("eq", ""), ("nin", ["a", ""])]:
        with pytest.raises(ConfigurationError, match=r"'t'.*empty"):
            LANCE.visit_comparison(compare(name, "t", value))
    assert LANCE.visit_comparison(compare("eq", "w", "")) == "false"


def test_text_that_qdrant_cannot_order():
    for value in ("a", True, "2024-01-31"):
        with pytest.raises(ConfigurationError, match=r"'t'.*orders numbers and dates"):
            QdrantTranslator().visit_comparison(compare("lt", "t", value))
    with pytest.raises(ConfigurationError, match='has a "'):
        QdrantTranslator().visit_comparison(compare("eq", 'a"b', "a"))


def test_a_qdrant_client_without_substrings(monkeypatch):
    monkeypatch.delattr(models, "MatchSubstring")
    assert Comparator.CONTAIN not in (QdrantTranslator().allowed_comparators or [])
    assert Comparator.CONTAIN in (QdrantTranslator.allowed_comparators or [])


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        (compare("eq", "w", 1.0), "metadata.`w` IN (1)"),
        (compare("eq", "w", 1.5), "false"),
        (compare("in", "w", [1, 1.5, "a"]), "metadata.`w` IN (1)"),
        (compare("eq", "w", 2**63), "false"),
        (compare("lt", "w", 1.5), "metadata.`w` < 2"),
        (compare("lte", "w", 1.5), "metadata.`w` <= 1"),
        (compare("gt", "w", 1.5), "metadata.`w` > 1"),
        (compare("gte", "w", 1.5), "metadata.`w` >= 2"),
        (compare("lt", "w", 2.0**63), "metadata.`w` IS NOT NULL"),
        (compare("gt", "w", 2.0**63), "false"),
        (compare("gt", "w", -math.inf), "metadata.`w` IS NOT NULL"),
        (compare("lt", "n", math.inf), "metadata.`n` IS NOT NULL"),
        (compare("lt", "n", math.nan), "false"),
        (compare("gte", "n", math.nan), "false"),
        (compare("lt", "n", 1), "metadata.`n` < 1.0"),
        (compare("lt", "b", True), "false"),
        (compare("lt", "missing", 1), "false"),
        (compare("ne", "missing", 1), "(false) IS NOT TRUE"),
        (compare("eq", "b", True), "metadata.`b` IN (true)"),
        (compare("eq", "t", "it's"), "metadata.`t` IN ('it''s')"),
        (compare("contain", "t", 1), "(false)"),
        (compare("like", "w", "a"), "false"),
    ],
    ids=str,
)
def test_lancedb_knows_its_columns(directive, expected):
    assert LANCE.visit_comparison(directive) == expected


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        (compare("eq", "t", 'say "é"\n'), 't == "say \\"é\\"\\n"'),
        (compare("eq", "in", 1), '$meta["in"] == 1'),
        (compare("in", "a b", ["a", "b"]), '($meta["a b"] == "a" or $meta["a b"] == "b")'),
        (compare("in", "t", ["a", "b", 1]), '(t == 1 or t in ["a", "b"])'),
        (compare("in", "t", []), "t in []"),
        (compare("in", "in", []), '($meta["in"] == 0 and $meta["in"] == 1)'),
        (compare("ne", "t", "a"), '(not (t == "a") or not exists t)'),
        (opposite(compare("contain", "t", "a")), '(not (t like "%a%") or not exists t)'),
    ],
    ids=str,
)  # fmt: skip
def test_milvus_expressions(directive, expected):
    directive = StructuredQuery("", directive)
    assert MilvusTranslator().visit_structured_query(directive)[1] == {"expr": expected}


def test_milvus_with_fields_in_its_schema():
    class Store:
        fields = ("pk", "text", "born")

    translator = MilvusTranslator(store=Store())
    assert translator.visit_comparison(compare("ne", "born", 1)) == "not (born == 1)"
    assert "exists" in translator.visit_comparison(compare("ne", "died", 1))


def test_columns_of_postgres_are_compared_as_they_are():
    translator = PGVectorStoreTranslator(columns=["year"])
    missing = {"year": {"$exists": False}}
    assert translator.visit_comparison(compare("lt", "year", 3)) == {"year": {"$lt": 3}}
    assert translator.visit_comparison(compare("lt", "other", 3)) == {"other": {"$lt": 3.0}}
    assert translator.visit_comparison(compare("nin", "year", [3, 4])) == {
        "$or": [{"$and": [{"year": {"$ne": 3}}, {"year": {"$ne": 4}}]}, missing]
    }
    assert translator.visit_comparison(compare("nin", "year", [])) == {
        "$or": [{"year": {"$exists": True}}, missing]
    }
    assert translator.visit_comparison(compare("in", "year", [])) == {
        "$and": [{"year": {"$exists": True}}, missing]
    }


def test_integers_that_a_float_cannot_hold():
    (condition,) = QdrantTranslator().visit_comparison(compare("eq", "n", 2**53 + 1)).must
    assert condition.match.value == 2**53 + 1
    (condition,) = QdrantTranslator().visit_comparison(compare("eq", "n", 2**53)).must
    assert condition.range.gte == condition.range.lte == 2**53


DAY = dt.date(1970, 1, 2)


@by_class([one for one in ALL if not isinstance(one, CommunityPGVectorTranslator)])
def test_dates_as_seconds(translator):
    kind: Any = type(translator)
    more = {"types": lambda: {"d": "broken"}} if translator is LANCE else {}
    seconds = kind("timestamp", **more)
    for value in (DAY, {"date": "1970-01-02", "type": "date"}):
        made = seconds.visit_comparison(compare("gt", "d", value))
        by_number = kind(**more).visit_comparison(compare("gt", "d", 86400.0))
        if callable(made):
            continue
        assert made == by_number
    with pytest.raises(ConfigurationError, match="'2024-13-01', which is none"):
        seconds.visit_comparison(compare("gt", "d", {"date": "2024-13-01", "type": "date"}))


@pytest.mark.filterwarnings("ignore:.*langchain-community.* is being sunset")
def test_faiss_joins_its_dicts_and_functions():
    translator = FAISSTranslator()
    old = translator.visit_comparison(compare("lt", "born", 1750))
    rows = [{"born": 1707, "in": "CH"}, {"born": 1707, "in": "DE"}, {"born": 1800, "in": "CH"}]
    for given in ({"in": "CH"}, {"in": {"$eq": "CH"}}, lambda row: row["in"] == "CH"):
        passes = translator.both(given, old)
        assert [passes(row) for row in rows] == [True, False, False]


def test_the_others_join_filters():
    one, two = compare("eq", "w", 1), compare("eq", "t", "a")
    both = Operation(Operator.AND, [one, two])
    for translator in CLOSED:
        made = translator.both(
            translator.visit_comparison(one), translator.visit_comparison(two)
        )
        if isinstance(translator, LanceDBTranslator | MilvusTranslator):
            assert "and" in made.lower()
        else:
            assert made == translator.visit_operation(both)
    assert LANCE.both({"metadata.t": "it's"}, "metadata.w = 1 OR true") == (
        "(metadata.t = 'it''s') AND (metadata.w = 1 OR true)"
    )
    assert MilvusTranslator().both("a or b", "c") == "(a or b) and (c)"
