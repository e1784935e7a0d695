"""A cache in any byte store, whatever that store holds besides."""

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
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache
from tests.unit.caches.behaviour import EmbeddingCacheBehaviour, VariationCacheBehaviour
from tests.unit.caches.kept import (
    KEPT,
    MODEL,
    OTHER,
    SUMMARIES,
    Embeddings,
    Variations,
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


@pytest.fixture(params=KEPT)
def kept(request):
    return request.param


@pytest.fixture
def make_cache(kept, store):
    return lambda namespace="": kept.in_byte_store(store, namespace)


class TestByteStoreVariationCache(VariationCacheBehaviour):
    many = 50  # each is a value of its own


class TestByteStoreEmbeddingCache(EmbeddingCacheBehaviour):
    many = 50


async def test_names_are_such_as_any_store_takes(driver, store):
    namespace = "Gauß: \ud800\0 ../x"
    cache = ByteStoreVariationCache(store, namespace)
    await driver(cache, "mset", [(CacheKey("Größer", "é", "../.."), pieces("text"))])
    vectors = ByteStoreEmbeddingCache(store, namespace)
    await driver(vectors, "mset", OTHER, [("../..", [1.0])])
    vector, answer = sorted(store.yield_keys())
    assert set(answer + vector) <= set(string.ascii_letters + string.digits + "_.-/")
    assert re.fullmatch(r"variations/[0-9a-f]{32}/[0-9a-f]{64}/[0-9a-f]{64}", answer)
    assert re.fullmatch(r"embeddings/[0-9a-f]{32}/[0-9a-f]{64}", vector)


async def test_a_value_is_versioned_json(driver, store):
    await driver(ByteStoreVariationCache(store), "mset", [(key(1), pieces("Gauß"))])
    [value] = store.mget(list(store.yield_keys()))
    assert "Gauß".encode() in value
    read = json.loads(value)
    assert read.pop("created_at") > 1_700_000_000
    assert read == {"version": 1, "transformer": SUMMARIES, "pieces": [["summary", "Gauß"]]}


async def test_what_else_is_in_the_store_is_left_alone(driver, store, kept, make_cache):
    cache = make_cache()
    await kept.mset(driver, cache, [(1, kept.value(1))])
    [name] = store.yield_keys()
    others = ["mine", f"{kept.codec.folder}/mine", f"{name}.bak", f"{name[:-1]}", f"x/{name}"]
    store.mset([(other, b"mine") for other in others])
    assert (await driver(cache, "stats")).entries == 1
    assert await driver(cache, "purge", **{kept.by: kept.other}) == 0
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
DAMAGED: list[Any] = [
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


def flipped(value: bytes, position: int) -> bytes:
    return value[:position] + bytes([value[position] ^ 1]) + value[position + 1 :]


# The value of a vector of two numbers: head 11, model, head of the vector 10, numbers 8.
DAMAGES = {
    "empty": lambda value: b"",
    "one byte": lambda value: value[:1],
    "only a head": lambda value: value[:11],
    "no numbers": lambda value: value[:-8],
    "cut off": lambda value: value[:-1],
    "a number less": lambda value: value[:-4],
    "too long": lambda value: value + b"\0",
    "twice": lambda value: value * 2,
    "version": lambda value: b"\2" + value[1:],
    "time": lambda value: flipped(value, 4),
    "far time": lambda value: value[:1] + b"\xff" * 8 + value[9:],
    "model": lambda value: flipped(value, 12),
    "length of the model": lambda value: flipped(value, 9),
    "endless model": lambda value: value[:9] + b"\xff\xff" + value[11:],
    "version of the vector": lambda value: flipped(value, -18),
    "width": lambda value: value[:-17] + b"\x08" + value[-16:],
    "length": lambda value: flipped(value, -16),
    "checksum": lambda value: flipped(value, -12),
    "number": lambda value: flipped(value, -2),
    "json": lambda value: b"[1.0, 2.0]",
    "pickle": lambda value: b"\x80\x04N." * 20,
    "text": lambda value: "a text",
    "number instead": lambda value: 7,
}


async def check_a_miss(driver, caplog, kept, damage):
    store = InMemoryByteStore()
    cache = kept.in_byte_store(store)
    await kept.mset(driver, cache, [(2, kept.value(2, length=2))])
    [name] = store.store
    damaged = damage(store.store[name])
    store.store[name] = damaged
    await kept.mset(driver, cache, [(1, kept.value(1))])
    with caplog.at_level(logging.WARNING, "langchain_rag"):
        assert await kept.mget(driver, cache, [1, 2]) == [kept.value(1), None]
    [record] = caplog.records
    assert name in record.getMessage()
    assert len(record.getMessage()) < 400
    stats = await driver(cache, "stats")
    assert (stats.entries, stats.hits, stats.misses) == (1, 1, 1)
    # It serves nobody, so that any purge deletes it.
    assert await driver(cache, "purge", **{kept.by: "Other"}) == 1
    assert len(store.store) == 1
    assert name not in store.store
    store.store[name] = damaged
    await kept.mset(driver, cache, [(2, kept.value(3))])
    assert await kept.mget(driver, cache, [2]) == [kept.value(3)]


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda value: str(value)[:40])
async def test_a_damaged_answer_is_a_miss(driver, caplog, damaged):
    await check_a_miss(driver, caplog, Variations, lambda _: damaged)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_vector_is_a_miss(driver, caplog, damage):
    await check_a_miss(driver, caplog, Embeddings, damage)


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


async def test_a_vector_under_the_name_of_another_is_a_miss(driver):
    store = InMemoryByteStore()
    cache = ByteStoreEmbeddingCache(store)
    await driver(cache, "mset", MODEL, [("a", [1.0]), ("b", [2.0])])
    one, two = store.store
    store.store[one], store.store[two] = store.store[two], store.store[one]
    assert await driver(cache, "mget", MODEL, ["a", "b"]) == [None, None]


async def test_a_value_that_goes_while_purging_is_not_counted(driver, kept):
    class Forgetful(InMemoryByteStore):
        def mget(self, keys):
            return [None for _ in keys]

        async def amget(self, keys):
            return [None for _ in keys]

    cache = kept.in_byte_store(Forgetful())
    await kept.mset(driver, cache, [(1, kept.value(1))])
    assert await driver(cache, "purge", **{kept.by: kept.label}) == 0
    assert (await driver(cache, "stats")).entries == 0


async def test_more_values_than_are_read_at_a_time(driver, kept):
    cache = kept.in_byte_store(InMemoryByteStore())
    for conditions in ({}, {kept.by: kept.label}):
        pairs = [(number, kept.value(number)) for number in range(2500)]
        await kept.mset(driver, cache, pairs)
        assert (await driver(cache, "stats")).entries == 2500
        assert await driver(cache, "purge", **conditions) == 2500


async def test_a_failing_store_is_no_miss(driver, kept):
    class Broken(InMemoryByteStore):
        def mget(self, keys):
            msg = "planned"
            raise ConnectionError(msg)

        async def amget(self, keys):
            return self.mget(keys)

    with pytest.raises(ConnectionError, match="planned"):
        await kept.mget(driver, kept.in_byte_store(Broken()), [1])


def test_repr_shows_no_credentials(kept):
    cache = kept.in_byte_store(InMemoryByteStore(), "ns")
    assert repr(cache) == f"{type(cache).__name__}(InMemoryByteStore, namespace='ns')"


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
