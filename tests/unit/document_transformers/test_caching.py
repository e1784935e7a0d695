"""A variation cache in any byte store, whatever that store holds besides."""

import json
import logging
import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.storage import LocalFileStore
from langchain_core.stores import InMemoryByteStore

from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    CachedPiece,
    CacheKey,
    CacheStats,
)
from tests.unit.document_transformers.cache_behaviour import (
    QUESTIONS,
    SUMMARIES,
    VariationCacheBehaviour,
    key,
    pieces,
)


class AsyncByteStore(InMemoryByteStore):
    """Lists its keys asynchronously by itself, as a client of a server does."""

    async def ayield_keys(self, *, prefix=None):
        for name in [name for name in self.store if name.startswith(prefix or "")]:
            yield name


@pytest.fixture(params=["memory", "files", "async"])
def store(request, tmp_path):
    if request.param == "files":
        return LocalFileStore(tmp_path / "cache")
    return InMemoryByteStore() if request.param == "memory" else AsyncByteStore()


@pytest.fixture
def make_cache(store):
    return lambda namespace="": ByteStoreVariationCache(store, namespace)


class TestByteStoreVariationCache(VariationCacheBehaviour):
    many = 50  # each is a value of its own


async def test_names_are_such_as_any_store_takes(driver, store):
    cache = ByteStoreVariationCache(store, "Gauß: \ud800\0 ../x")
    await driver(cache, "mset", [(CacheKey("Größer", "é", "../.."), pieces("text"))])
    [name] = store.yield_keys()
    assert set(name) <= set(string.ascii_letters + string.digits + "_.-/")
    assert re.fullmatch(r"variations/[0-9a-f]{32}/[0-9a-f]{64}/[0-9a-f]{64}", name)


async def test_a_value_is_versioned_json(driver, store):
    await driver(ByteStoreVariationCache(store), "mset", [(key(1), pieces("Gauß"))])
    [value] = store.mget(list(store.yield_keys()))
    assert "Gauß".encode() in value
    read = json.loads(value)
    assert read.pop("created_at") > 1_700_000_000
    assert read == {"version": 1, "transformer": SUMMARIES, "pieces": [["summary", "Gauß"]]}


async def test_what_else_is_in_the_store_is_left_alone(driver, store):
    cache = ByteStoreVariationCache(store)
    await driver(cache, "mset", [(key(1), pieces("text"))])
    [name] = store.yield_keys()
    others = ["mine", "variations/mine", f"{name}.bak", f"{name[:-1]}", f"x/{name}"]
    store.mset([(other, b"mine") for other in others])
    assert (await driver(cache, "stats")).entries == 1
    assert await driver(cache, "purge", transformer=QUESTIONS) == 0
    assert await driver(cache, "purge") == 1
    assert sorted(store.yield_keys()) == sorted(others)


WHOLE = {"version": 1, "transformer": SUMMARIES, "created_at": 1.0, "pieces": [["a", "b"]]}
CHANGES: list[dict[str, Any]] = [
    {"version": 2},
    {"version": "1"},
    {"version": None},
    {"transformer": 7},
    {"created_at": "yesterday"},
    {"created_at": None},
    {"created_at": float("nan")},
    {"created_at": float("inf")},
    {"created_at": 10**400},
    {"created_at": 1e300},
    {"created_at": -1},
    {"pieces": []},
    {"pieces": {}},
    {"pieces": "ab"},
    {"pieces": ["ab"]},
    {"pieces": [["a"]]},
    {"pieces": [["a", "b", "c"]]},
    {"pieces": [["a", "b"], ["a", 1]]},
    {"pieces": [["a", None]]},
    {"pieces": [["a", "\0"]]},
    {"pieces": [["\ud800", "b"]]},
]
DAMAGED = [
    b"",
    b"{",
    b"\xff\xfe",
    b"\x80\x04N.",  # a pickle
    b"null",
    b"[]",
    b"[" * 100_000,
    b'{"version":1}',
    json.dumps(WHOLE).encode("utf-16"),
    json.dumps(WHOLE).encode()[:-1],
    json.dumps(WHOLE).encode() * 2,
    b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
    "a text",
    7,
    *(json.dumps(WHOLE | change).encode() for change in CHANGES),
    json.dumps(WHOLE).replace("1.0", "1" * 5000).encode(),
]


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda value: str(value)[:40])
async def test_a_damaged_value_is_a_miss(driver, caplog, damaged):
    store = InMemoryByteStore()
    cache = ByteStoreVariationCache(store)
    await driver(cache, "mset", [(key(1), pieces("good")), (key(2), pieces("to be damaged"))])
    [name] = [name for name in store.store if name.endswith(key(2).content)]
    store.store[name] = damaged
    with caplog.at_level(logging.WARNING, "langchain_rag"):
        assert await driver(cache, "mget", [key(1), key(2)]) == [pieces("good"), None]
    [record] = caplog.records
    assert name in record.getMessage()
    assert len(record.getMessage()) < 400
    stats = await driver(cache, "stats")
    assert (stats.entries, stats.hits, stats.misses) == (1, 1, 1)
    # It serves nobody, so that any purge deletes it.
    assert await driver(cache, "purge", transformer="Other") == 1
    assert list(store.store) != [name]
    store.store[name] = damaged
    await driver(cache, "mset", [(key(2), pieces("again"))])
    assert await driver(cache, "mget", [key(2)]) == [pieces("again")]


def test_what_is_whole_is_read():
    """The test above would pass for a cache that takes everything for damaged."""
    store = InMemoryByteStore()
    cache = ByteStoreVariationCache(store)
    cache.mset([(key(1), pieces("x"))])
    [name] = store.store
    unknown: dict[str, object] = {"unknown": [None]}
    for change in ({"created_at": 3}, {"created_at": 0}, unknown):
        store.store[name] = json.dumps(WHOLE | change).encode()
        assert cache.mget([key(1)]) == [[CachedPiece("a", "b")]]


async def test_a_value_that_goes_while_purging_is_not_counted(driver):
    class Forgetful(InMemoryByteStore):
        def mget(self, keys):
            return [None for _ in keys]

        async def amget(self, keys):
            return [None for _ in keys]

    cache = ByteStoreVariationCache(Forgetful())
    await driver(cache, "mset", [(key(1), pieces("x"))])
    assert await driver(cache, "purge", transformer=SUMMARIES) == 0
    assert (await driver(cache, "stats")).entries == 0


async def test_a_failing_store_is_no_miss(driver):
    class Broken(InMemoryByteStore):
        def mget(self, keys):
            msg = "planned"
            raise ConnectionError(msg)

        async def amget(self, keys):
            return self.mget(keys)

    with pytest.raises(ConnectionError, match="planned"):
        await driver(ByteStoreVariationCache(Broken()), "mget", [key(1)])


def test_repr_shows_no_credentials():
    cache = ByteStoreVariationCache(InMemoryByteStore(), "ns")
    assert repr(cache) == "ByteStoreVariationCache(InMemoryByteStore, namespace='ns')"


def test_statistics_print_on_one_line_each():
    stats = CacheStats(1234, 5678901, {"a\nb\x1b[2J" + "c" * 200: 1234})
    first, name, last = str(stats).splitlines()
    assert first == "1,234 answers, 5,678,901 characters"
    assert name.startswith("- a b [2Jccc")
    assert len(name) < 120
    assert last == "0 hits and 0 misses"


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
piece = st.builds(CachedPiece, kind=text, text=text)


@given(st.dictionaries(st.text(), st.lists(piece, min_size=1), max_size=5))
def test_any_pieces_read_back_the_same(answers):
    cache = ByteStoreVariationCache(InMemoryByteStore())
    pairs = [(CacheKey(SUMMARIES, "f", content), kept) for content, kept in answers.items()]
    cache.mset(pairs)
    assert cache.mget([one for one, _ in pairs]) == list(answers.values())
