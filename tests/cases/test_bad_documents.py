"""What bad documents, ids and arguments get: a clear error, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag import RAGVectorStore
from langchain_rag._reserved import RESERVED
from langchain_rag.errors import (
    ConfigurationError,
    DuplicateIdError,
    InvalidDocumentError,
    MissingSourceError,
    RAGError,
    ReservedMetadataError,
    UnstorableMetadataError,
)
from langchain_rag.testing import CountingEmbeddings, Driver, World, audit, contents

NUL, SURROGATE = "a\x00b", "a\ud800b"


def doc(text: str = "text", id: str | None = None, **metadata: Any) -> Document:  # noqa: A002
    return Document(text, id=id, metadata={"source": "s", **metadata})


@dataclass
class Bad:
    """A call that must be refused.

    Attributes:
        error: Exact class.
        says: What the message must name: what is wrong, of what, and the remedy.
        documents: Its documents.
        kwargs: Its further arguments.
    """

    error: type[RAGError]
    says: list[str]
    documents: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)


class Foreign:
    """A value of the user's own."""


class Odd(IntEnum):
    ONE = 1


class OwnZone(tzinfo):
    def utcoffset(self, dt: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, dt: datetime | None) -> None:
        return None

    def tzname(self, dt: datetime | None) -> str:
        return "own"


def contains_itself() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def deep() -> list[Any]:
    items: list[Any] = []
    for _ in range(100_000):
        items = [items]
    return items


def unstorable(value: Any, *says: str) -> Bad:
    return Bad(UnstorableMetadataError, ["'key", "'bad'", *says], [doc(id="bad", key=value)])


BAD: dict[str, Bad] = {
    "fewer ids": Bad(
        InvalidDocumentError,
        ["1 ids", "2 documents", "one id for each"],
        [doc(), doc("b")],
        {"ids": ["a"]},
    ),
    "more ids": Bad(
        InvalidDocumentError,
        ["2 ids", "1 documents", "one id for each"],
        [doc()],
        {"ids": ["a", "b"]},
    ),
    "ids for nothing": Bad(InvalidDocumentError, ["1 ids", "0 documents"], [], {"ids": ["a"]}),
    "one text as ids": Bad(InvalidDocumentError, ["'a'", "list"], [doc()], {"ids": "a"}),
    "the same id twice": Bad(
        DuplicateIdError,
        ["'twice'", "id of its own"],
        [doc(), doc("b")],
        {"ids": ["twice", "twice"]},
    ),
    "the same own id twice": Bad(
        DuplicateIdError, ["'twice'", "id of its own"], [doc(id="twice"), doc(id="twice")]
    ),
    "an own id and a given one": Bad(
        DuplicateIdError, ["'twice'"], [doc(id="twice"), doc()], {"ids": [None, "twice"]}
    ),
    "the same id, and the same document": Bad(
        DuplicateIdError, ["'twice'"], [doc(), doc()], {"ids": ["twice", "twice"]}
    ),
    "an empty id": Bad(InvalidDocumentError, ["not empty", "''"], [doc()], {"ids": [""]}),
    "an id that is a number": Bad(InvalidDocumentError, ["text", "7"], [doc()], {"ids": [7]}),
    "NUL in an id": Bad(
        InvalidDocumentError, ["a\\x00b", "NUL", "another id"], [doc()], {"ids": [NUL]}
    ),
    "a surrogate in an id": Bad(
        InvalidDocumentError, ["a\\ud800b", "surrogate"], [doc(id=SURROGATE)]
    ),
    "no source": Bad(
        MissingSourceError,
        ["'bad'", "'source'", "source_id_key=None"],
        [Document("text", id="bad", metadata={"src": "s"})],
    ),
    "no source and no id": Bad(
        MissingSourceError, ["position 1"], [doc(), Document("text", metadata={})]
    ),
    "a source that is None": Bad(MissingSourceError, ["'bad'"], [doc(id="bad", source=None)]),
    "NUL in the source": Bad(
        UnstorableMetadataError, ["'bad'", "'source'", "NUL"], [doc(id="bad", source=NUL)]
    ),
    "a surrogate in the source": Bad(
        UnstorableMetadataError, ["'bad'", "surrogate"], [doc(id="bad", source=SURROGATE)]
    ),
    "NUL in the text": Bad(
        InvalidDocumentError, ["'bad'", "NUL", "position 1", "Remove"], [doc(NUL, id="bad")]
    ),
    "a surrogate in the text": Bad(
        InvalidDocumentError, ["'bad'", "surrogate", "position 1"], [doc(SURROGATE, id="bad")]
    ),
    "NUL in a key": Bad(
        UnstorableMetadataError, ["NUL", "'bad'"], [doc(id="bad", **{NUL: "value"})]
    ),
    "a surrogate in a key": Bad(
        UnstorableMetadataError,
        ["surrogate", "a\\\\ud800b"],
        [doc(id="bad", **{SURROGATE: "x"})],
    ),
    "a key that is a number": Bad(
        UnstorableMetadataError,
        ["'bad'", "int", "str key"],
        [Document("text", id="bad", metadata={"source": "s", 1: "value"})],
    ),
    "no document": Bad(InvalidDocumentError, ["Item 1", "str", "add_texts"], [doc(), "text"]),
    "a batch of none": Bad(ConfigurationError, ["batch_size", "0"], [doc()], {"batch_size": 0}),
    "NUL in a value": unstorable(NUL, "NUL"),
    "a surrogate in a value": unstorable(SURROGATE, "surrogate"),
    "a surrogate in a nested key": unstorable({"a": {SURROGATE: 1}}, "surrogate"),
    "NUL in a set": unstorable({NUL}, "NUL"),
    "an object": unstorable(Foreign(), "Foreign", "a str"),
    "a nested object": unstorable({"a": [1, {"b": Foreign()}]}, "key.a[1].b", "Foreign"),
    "a class": unstorable(Foreign, "type"),
    "an enum": unstorable(Odd.ONE, "Odd"),
    "a document": unstorable(doc(), "Document"),
    "a complex number": unstorable(1j, "complex"),
    "a zone of one's own": unstorable(datetime(2026, 1, 1, tzinfo=OwnZone()), "OwnZone"),
    "a time of such a zone": unstorable(time(1, tzinfo=OwnZone()), "OwnZone"),
    "a number without end": unstorable(10**5000, "digits", "a str"),
    "a list that contains itself": Bad(
        UnstorableMetadataError,
        ["'bad'", "contains itself"],
        [doc(id="bad", k=contains_itself())],
    ),
    "a list of great depth": Bad(
        UnstorableMetadataError, ["'bad'", "nested"], [doc(id="bad", k=deep())]
    ),
    **{
        f"reserved key {key}": Bad(
            ReservedMetadataError, ["'bad'", repr(key), "Rename"], [doc(id="bad", **{key: "x"})]
        )
        for key in sorted(RESERVED)
    },
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_input_writes_nothing(driver: Driver, name: str) -> None:
    bad = BAD[name]
    world = World()
    rag = world.start()
    await driver(rag, "add_documents", [doc("stays")], ids=["there"])
    before, saved = contents(rag), world.save()
    world.plan.forget()
    world.embeddings.reset()
    with pytest.raises(bad.error) as caught:
        await driver(rag, "add_documents", bad.documents, **bad.kwargs)
    assert type(caught.value) is bad.error
    for word in bad.says:
        assert word in str(caught.value)
    assert str(caught.value).isprintable()
    assert world.plan.calls == []
    assert world.embeddings.documents == []
    assert contents(rag) == before
    assert world.save() == saved


@pytest.mark.parametrize("name", [n for n, bad in BAD.items() if bad.documents])
async def test_a_good_neighbour_is_not_written_either(driver: Driver, name: str) -> None:
    bad = BAD[name]
    world = World()
    rag = world.start()
    neighbours = [doc("before", id="before"), *bad.documents, doc("after", id="after")]
    kwargs = dict(bad.kwargs)
    if isinstance(kwargs.get("ids"), list):
        kwargs["ids"] = [None, *kwargs["ids"], None]
    with pytest.raises(bad.error):
        await driver(rag, "add_documents", neighbours, **kwargs)
    assert world.plan.calls == []
    assert contents(rag) == ({}, {})


async def test_bad_texts_and_metadatas(driver: Driver) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    with pytest.raises(InvalidDocumentError, match=r"1 metadatas .* 2 texts.*one for each"):
        await driver(rag, "add_texts", ["a", "b"], [{"a": 1}])
    with pytest.raises(InvalidDocumentError, match="1 ids"):
        await driver(rag, "add_texts", ["a", "b"], ids=["1"])
    assert world.plan.calls == []
    assert len(await driver(rag, "add_texts", ["a", "b"], [])) == 2


@pytest.mark.parametrize(
    ("ids", "says"),
    [([""], "not empty"), ([NUL], "NUL"), ([SURROGATE], "surrogate"), ("a", "list")],
)
async def test_bad_ids_to_delete(driver: Driver, ids: Any, says: str) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    await driver(rag, "add_texts", ["a"], ids=["a"])
    world.plan.forget()
    with pytest.raises(InvalidDocumentError, match=says):
        await driver(rag, "delete", ids)
    assert world.plan.calls == []


async def test_unknown_and_odd_ids_are_not_found(driver: Driver) -> None:
    rag = World().start(source_id_key=None)
    await driver(rag, "add_texts", ["a"], ids=["a"])
    assert await driver(rag, "get_by_ids", ["", NUL, SURROGATE, "../../etc", "A"]) == []
    with pytest.raises(InvalidDocumentError, match="ids must be a list"):
        await driver(rag, "get_by_ids", "a")


@pytest.mark.parametrize(
    "key", [lambda document: None, lambda document: document.metadata.get("nowhere")]
)
async def test_a_source_function_that_returns_none(driver: Driver, key: Any) -> None:
    rag = World().start(source_id_key=key)
    with pytest.raises(MissingSourceError, match=r"'bad'.*returned None"):
        await driver(rag, "add_documents", [doc(id="bad")])


@pytest.mark.parametrize(("source", "says"), [(NUL, "NUL"), (SURROGATE, "surrogate")])
async def test_a_source_function_that_returns_what_cannot_be_stored(
    driver: Driver, source: str, says: str
) -> None:
    world = World()
    rag = world.start(source_id_key=lambda document: source)
    with pytest.raises(InvalidDocumentError, match=rf"'bad' has a.*{says}.*Remove"):
        await driver(rag, "add_documents", [doc(id="bad")])
    assert world.plan.calls == []


async def test_a_source_that_is_no_text_is_made_one(driver: Driver) -> None:
    rag = World().start(source_id_key=lambda document: document.metadata["page"])
    await driver(rag, "add_documents", [doc(page=3)], ids=["a"])
    (manifest,) = contents(rag).room("manifests").values()
    assert manifest.metadata["source_id"] == "3"


ROUND_TRIPS: dict[str, Any] = {
    "datetime": datetime(2026, 11, 30, 7, 46, 53, 123456),  # noqa: DTZ001
    "utc": datetime(2026, 11, 30, tzinfo=UTC),
    "offset": datetime(2026, 11, 30, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    "zone": datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Zurich")),
    "date": date(2026, 11, 30),
    "time": time(7, 46, fold=1),
    "span": timedelta(days=-1, microseconds=1),
    "set": {1, "a", (2, 3), None},
    "frozenset": frozenset({frozenset({1}), 2.5}),
    "bytes": b"\x00\xff",
    "tuple": (1, [2, (3,)], {"a": (4,)}),
    "int keys": {1: "a", (2, "x"): "b", None: "c", 1.5: "d"},
    "order of keys": {"z": 1, "a": 2, "m": 3},
    "infinity": [float("inf"), float("-inf")],
    "decimal": Decimal("1.10"),
    "uuid": UUID(int=7),
    "big": [2**70, -(2**100)],
    "small": [5e-324, -0.0, 0.1 + 0.2],
    "bool and int": [True, 1, False, 0, 1.0],
    "looks like a tag": {"$type": "set", "value": [1]},
    "looks like LangChain": {"lc": 1, "type": "constructor", "id": ["os", "system"]},
    "looks escaped": {"__lc_escaped__": {"lc": 1}},
    "lines": "a\r\nb\u2028c\tüñ∑\U0001d518",
    "quotes": "'\"\\{}[]$",
    "empty": ["", {}, [], (), None, b""],
    "empty set": set(),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
async def test_metadata_reads_back_exactly(driver: Driver, name: str) -> None:
    value = ROUND_TRIPS[name]
    rag = World().start()
    await driver(rag, "add_documents", [doc(key=value)], ids=["a"])
    (found,) = await driver(rag, "get_by_ids", ["a"])
    read = found.metadata["key"]
    assert read == value
    assert type(read) is type(value)
    if name not in {"set", "frozenset"}:  # which have no order to show
        assert repr(read) == repr(value)
    assert audit(rag) == []


async def test_nan_reads_back_and_is_no_change(driver: Driver) -> None:
    world = World()
    rag = world.start()
    given = doc(key=float("nan"), keys={float("nan"): 1})
    await driver(rag, "add_documents", [given], ids=["a"])
    (found,) = await driver(rag, "get_by_ids", ["a"])
    assert repr(found.metadata) == repr(given.metadata)
    world.plan.forget()
    await driver(rag, "add_documents", [given], ids=["a"])
    assert world.plan.calls == []


async def test_a_megabyte_in_one_line(
    driver: Driver, make: Callable[..., Any], wrapped
) -> None:
    text = "x" * 500_000 + " " + "é" * 500_000
    rag = make(wrapped, source_id_key=None)
    given = Document(text, metadata={"long": text, "k" * 1000: "v"})
    await driver(rag, "add_documents", [given], ids=["a"])
    (found,) = await driver(rag, "similarity_search", "x", k=1)
    assert found.page_content == text
    assert found.metadata == given.metadata
    assert await driver(rag, "delete", ["a"]) is True
    assert contents(rag) == ({}, {})


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0\u2003", "\ufeff  \n"[1:]])
async def test_blank_documents(driver: Driver, text: str) -> None:
    world = World()
    rag = world.start()
    assert await driver(rag, "add_documents", [doc(text)], ids=["blank"]) == ["blank"]
    assert contents(rag).rows == {}
    assert await driver(rag, "get_by_ids", ["blank"]) == []
    assert await driver(rag, "similarity_search", "anything", k=3) == []
    world.plan.forget()
    await driver(rag, "add_documents", [doc(text)], ids=["blank"])
    assert world.plan.calls == []
    assert audit(rag) == []
    assert await driver(rag, "delete", ["blank"]) is True
    assert contents(rag) == ({}, {})


SEARCHES = [
    ("similarity_search", "text"),
    ("similarity_search_with_score", "text"),
    ("similarity_search_with_relevance_scores", "text"),
    ("similarity_search_by_vector", [1.0] * 64),
    ("max_marginal_relevance_search", "text"),
    ("max_marginal_relevance_search_by_vector", [1.0] * 64),
]


@pytest.mark.parametrize(("method", "query"), SEARCHES, ids=[name for name, _ in SEARCHES])
async def test_k_of_nothing_and_beyond(
    driver: Driver, make: Callable[..., Any], wrapped, embeddings, method: str, query: Any
) -> None:
    rag = make(wrapped, source_id_key=None)
    assert await driver(rag, method, query, k=3) == []
    await driver(rag, "add_texts", ["text one", "text two"])
    embeddings.reset()
    for k in (0, -1, -100):
        assert await driver(rag, method, query, k=k) == []
    assert embeddings.queries == []
    for k in (2, 3, 1000):
        assert len(await driver(rag, method, query, k=k)) == 2


async def test_an_id_that_another_document_derives(driver: Driver) -> None:
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=InMemoryStore(),
        source_id_key=None,
    )
    (derived,) = await driver(rag, "add_documents", [Document("text")])
    await driver(rag, "delete", [derived])
    with pytest.raises(DuplicateIdError, match=derived):
        await driver(rag, "add_documents", [Document("text"), Document("other", id=derived)])
    assert await driver(rag, "get_by_ids", [derived]) == []
