"""The translators for Chroma and for memory against a plain definition of what a filter means.

`test_stores_agree.py` has the others.
"""

import datetime as dt
import math
import uuid
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_classic.chains.query_constructor.parser import get_parser
from langchain_core.documents import Document
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
)
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query import ChromaTranslator, InMemoryTranslator
from langchain_rag.testing import CountingEmbeddings
from tests.unit.structured_query.reference import (
    EXACT,
    LISTS,
    ORDER,
    compared,
    meaning,
    trees,
)


def parse(filter_text):
    """A filter as a model writes it."""
    return cast("FilterDirective", get_parser().parse(filter_text))


numbers = st.integers(-2, 2) | st.sampled_from([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5])
texts = st.sampled_from(["", "a", "B", "b", "1", "é"])
scalars = numbers | texts | st.booleans()
lists = st.lists(scalars, max_size=4)
ATTRIBUTES = ["a", "b", "c"]


def comparisons(ordered):
    return (
        compared(EXACT, ATTRIBUTES, scalars)
        | compared(ORDER, ATTRIBUTES, ordered)
        | compared(LISTS, ATTRIBUTES, lists)
    )


# Every pair of values of a and b, one of them missing, and neither.
VALUES = [None, -1, 0, 1, 2, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, "", "a", "b", "1", True, False]
ROWS = [
    {key: value for key, value in [("a", a), ("b", b), ("n", 1)] if value is not None}
    for a in VALUES
    for b in VALUES[::3]
]
IDS = {str(uuid.UUID(int=number)): row for number, row in enumerate(ROWS)}


@given(tree=trees(comparisons(scalars)))
def test_in_memory_means_what_it_should(tree):
    predicate = InMemoryTranslator().visit_structured_query(StructuredQuery("", tree))[1][
        "filter"
    ]
    for row in ROWS:
        assert predicate(Document("", metadata=row)) == (meaning(tree, row) is True)


@pytest.fixture(scope="module")
def chroma():
    import chromadb
    from chromadb.config import Settings
    from langchain_chroma import Chroma

    store = Chroma(
        uuid.uuid4().hex,
        CountingEmbeddings(8),
        client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
    )
    documents = [Document("x", id=id_, metadata=row) for id_, row in IDS.items()]
    store.add_documents(documents)
    yield store
    store.delete_collection()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees(comparisons(numbers)))
def test_chroma_means_what_it_should(chroma, tree):
    where = ChromaTranslator().visit_structured_query(StructuredQuery("", tree))[1]["filter"]
    found = set(chroma.get(where=where)["ids"])
    assert found == {id_ for id_, row in IDS.items() if meaning(tree, row) is True}


EULER = Document(
    "Euler", metadata={"born": 1707, "tags": ["Graphs", "E_ler"], "name": "Leonhard_Euler\n"}
)


def passes(filter_text, document=EULER, **kwargs):
    directive = parse(filter_text)
    query, search = InMemoryTranslator(**kwargs).visit_structured_query(
        StructuredQuery("q", directive, None)
    )
    assert query == "q"
    return search["filter"](document)


@pytest.mark.parametrize(
    ("filter_text", "expected"),
    [
        ('contain("tags", "Graphs")', True),
        ('contain("tags", "Graph")', False),
        ('contain("tags", ["Graphs", "E_ler"])', True),
        ('contain("tags", ["Graphs", "Sets"])', False),
        ('contain("name", "hard")', True),
        ('contain("born", 17)', False),
        ('contain("missing", "x")', False),
        ('not(contain("tags", "Sets"))', True),
        ('not(not(contain("tags", "Sets")))', False),
        ('like("name", "EULER")', True),
        ('like("name", "Leonhard%")', True),
        ('like("name", "%hard_euler%")', True),
        ('like("name", "%hard_euler")', False),
        ('like("name", "Leon.*")', False),
        ('like("born", "17")', False),
        ('not(like("name", "gauss"))', True),
        ('or(like("name", "gauss"), and(gt("born", 1700), lt("born", 1710)))', True),
        ('in("born", [1777, 1707])', True),
        ('lt("tags", "x")', False),
        ('eq("tags", "Graphs")', False),
    ],
)
def test_in_memory_comparisons(filter_text, expected):
    assert passes(filter_text) is expected


DATES = [
    ('eq("when", "2024-01-31")', True),
    ('gt("when", "2024-01-30")', True),
    ('lt("when", "2024-01-31T08:00:00Z")', True),
    ('in("when", ["2024-01-31", "2025-01-01"])', True),
    ('gt("when", "2024-01-31")', False),
]


@pytest.mark.parametrize(("filter_text", "expected"), DATES)
def test_dates(filter_text, expected):
    assert passes(filter_text, Document("", metadata={"when": "2024-01-31"})) is expected
    midnight = dt.datetime(2024, 1, 31, tzinfo=dt.UTC).timestamp()
    document = Document("", metadata={"when": midnight})
    assert passes(filter_text, document, dates="timestamp") is expected


def test_dates_for_chroma():
    equal = parse('eq("when", "2024-01-31")')
    assert equal.accept(ChromaTranslator()) == {"when": {"$eq": "2024-01-31"}}
    later = parse('gt("when", "1970-01-02")')
    assert later.accept(ChromaTranslator(dates="timestamp")) == {"when": {"$gt": 86400.0}}
    with pytest.raises(ConfigurationError, match=r"'when' by 'gt'.*dates='timestamp'"):
        later.accept(ChromaTranslator())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.date(1970, 1, 2), 86400.0),
        (dt.datetime(1970, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=1))), 82800.0),
    ],
)
def test_dates_of_filters_written_by_hand(value, expected):
    comparison = Comparison(Comparator.EQ, "when", value)
    translated = ChromaTranslator().visit_comparison(comparison)
    assert translated == {"when": {"$eq": value.isoformat()}}
    translated = ChromaTranslator("timestamp").visit_comparison(comparison)
    assert translated == {"when": {"$eq": expected}}


@pytest.mark.parametrize(
    ("filter_text", "expected"),
    [
        ('and(eq("a", 1))', {"a": {"$eq": 1}}),
        ('and(or(eq("a", 1)))', {"a": {"$eq": 1}}),
        ('not(and(eq("a", 1), or(lt("b", 2), nin("c", ["x"]))))',
         {"$or": [{"a": {"$ne": 1}}, {"$and": [{"b": {"$gte": 2}}, {"c": {"$in": ["x"]}}]}]}),
        ('in("a", 1)', {"a": {"$in": [1]}}),
        ('in("a", [1, "x", 2])', {"$or": [{"a": {"$in": [1, 2]}}, {"a": {"$in": ["x"]}}]}),
        ('nin("a", [1, "x"])', {"$and": [{"a": {"$nin": [1]}}, {"a": {"$nin": ["x"]}}]}),
        ('eq("a", true)', {"a": {"$eq": True}}),
        ('lt("a", 1.5)', {"$or": [{"a": {"$lt": 1.5}}, {"a": {"$lte": 1}}]}),
        ('in("a", [1.5])', {"$and": [{"a": {"$eq": 1.5}}, {"a": {"$ne": 1}}]}),
    ],
)  # fmt: skip
def test_chroma_filters(filter_text, expected):
    assert parse(filter_text).accept(ChromaTranslator()) == expected


def test_an_operation_of_one_argument_made_by_hand():
    one = Operation(Operator.OR, [Comparison(Comparator.EQ, "a", 1)])
    assert ChromaTranslator().visit_operation(one) == {"a": {"$eq": 1}}


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (Comparison(Comparator.GT, "a", "x"), "'a' by 'gt' with 'x'"),
        (Comparison(Comparator.GT, "a", True), "'a' by 'gt' with True"),
        (Comparison(Comparator.LT, "a", math.inf), "'a' by 'lt' with inf"),
        (Comparison(Comparator.EQ, "a", None), "'a' by 'eq' with None"),
        (Comparison(Comparator.IN, "a", [1, None]), "'a' by 'eq' with None"),
        (Comparison(Comparator.LIKE, "a", "x"), "no 'like'.*'a'.*eq, ne"),
        (Operation(Operator.NOT, [Comparison(Comparator.CONTAIN, "a", "x")]), "no 'contain'"),
    ],
)
def test_what_chroma_cannot_compare(directive, message):
    with pytest.raises(ConfigurationError, match=message):
        directive.accept(ChromaTranslator())


class Odd(FilterDirective):
    pass


@pytest.mark.parametrize("translator", [ChromaTranslator(), InMemoryTranslator()])
@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (Operation(Operator.AND, []), "'and' with 0 arguments"),
        (Operation(Operator.NOT, [Odd(), Odd()]), "'not' with 2 arguments"),
        (Odd(), "holds a Odd"),
    ],
)
def test_filters_that_mean_nothing(translator, directive, message):
    with pytest.raises(ConfigurationError, match=message):
        translator.visit_structured_query(StructuredQuery("", directive))


@pytest.mark.parametrize("translator", [ChromaTranslator(), InMemoryTranslator()])
def test_no_filter(translator):
    assert translator.visit_structured_query(StructuredQuery("q", None)) == ("q", {})


def test_a_lone_comparison_in_memory():
    born = Comparison(Comparator.EQ, "born", 1707)
    assert InMemoryTranslator().visit_comparison(born)(EULER)
    assert not InMemoryTranslator().visit_operation(Operation(Operator.NOT, [born]))(EULER)


async def test_the_stores_take_them(driver, chroma):
    memory = InMemoryVectorStore(CountingEmbeddings(8))
    memory.add_documents([Document("x", id=id_, metadata=row) for id_, row in IDS.items()])
    tree = parse('and(gt("a", 0), not(eq("b", true)), nin("a", []))')
    expected = {id_ for id_, row in IDS.items() if meaning(tree, row) is True}
    assert expected
    for store, translator in ((memory, InMemoryTranslator()), (chroma, ChromaTranslator())):
        search = translator.visit_structured_query(StructuredQuery("", tree))[1]
        found = await driver(store, "similarity_search", "x", k=len(IDS), **search)
        assert {document.id for document in found} == expected
