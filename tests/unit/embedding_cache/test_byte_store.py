"""An embedding cache in any byte store, whatever that store holds besides."""

import logging
import re
import string

import pytest
from langchain_classic.storage import LocalFileStore
from langchain_core.stores import InMemoryByteStore

from langchain_rag.embedding_cache import ByteStoreEmbeddingCache
from tests.unit.embedding_cache.cache_behaviour import MODEL, OTHER, EmbeddingCacheBehaviour


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
    return lambda namespace="": ByteStoreEmbeddingCache(store, namespace)


class TestByteStoreEmbeddingCache(EmbeddingCacheBehaviour):
    many = 50  # each is a value of its own


async def test_names_are_such_as_any_store_takes(driver, store):
    cache = ByteStoreEmbeddingCache(store, "Gauß: \ud800\0 ../x")
    await driver(cache, "mset", OTHER, [("../..", [1.0])])
    [name] = store.yield_keys()
    assert set(name) <= set(string.ascii_letters + string.digits + "_.-/")
    assert re.fullmatch(r"embeddings/[0-9a-f]{32}/[0-9a-f]{64}", name)


async def test_what_else_is_in_the_store_is_left_alone(driver, store):
    cache = ByteStoreEmbeddingCache(store)
    await driver(cache, "mset", MODEL, [("a", [1.0])])
    [name] = store.yield_keys()
    others = ["mine", "embeddings/mine", f"{name}.bak", f"{name[:-1]}", f"x/{name}"]
    store.mset([(other, b"mine") for other in others])
    assert (await driver(cache, "stats")).entries == 1
    assert await driver(cache, "purge", model=OTHER) == 0
    assert await driver(cache, "purge") == 1
    assert sorted(store.yield_keys()) == sorted(others)


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


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_value_is_a_miss(driver, caplog, damage):
    store = InMemoryByteStore()
    cache = ByteStoreEmbeddingCache(store)
    await driver(cache, "mset", MODEL, [("bad", [1.0, 2.0])])
    [name] = store.store
    store.store[name] = damage(store.store[name])
    await driver(cache, "mset", MODEL, [("good", [3.0, 4.0])])
    with caplog.at_level(logging.WARNING, "langchain_rag"):
        assert await driver(cache, "mget", MODEL, ["good", "bad"]) == [[3.0, 4.0], None]
    [record] = caplog.records
    assert name.rpartition("/")[2] in record.getMessage()
    assert len(record.getMessage()) < 400
    stats = await driver(cache, "stats")
    assert (stats.entries, stats.hits, stats.misses) == (1, 1, 1)
    # It serves nobody, so that any purge deletes it.
    assert await driver(cache, "purge", model=OTHER) == 1
    assert len(store.store) == 1
    await driver(cache, "mset", MODEL, [("bad", [5.0, 6.0])])
    assert await driver(cache, "mget", MODEL, ["bad"]) == [[5.0, 6.0]]


async def test_a_value_under_the_name_of_another_is_a_miss(driver):
    store = InMemoryByteStore()
    cache = ByteStoreEmbeddingCache(store)
    await driver(cache, "mset", MODEL, [("a", [1.0]), ("b", [2.0])])
    one, two = store.store
    store.store[one], store.store[two] = store.store[two], store.store[one]
    assert await driver(cache, "mget", MODEL, ["a", "b"]) == [None, None]


async def test_a_value_that_goes_while_purging_is_not_counted(driver):
    class Forgetful(InMemoryByteStore):
        def mget(self, keys):
            return [None for _ in keys]

        async def amget(self, keys):
            return [None for _ in keys]

    cache = ByteStoreEmbeddingCache(Forgetful())
    await driver(cache, "mset", MODEL, [("a", [1.0])])
    assert await driver(cache, "purge", model=MODEL) == 0
    assert (await driver(cache, "stats")).entries == 0


async def test_a_failing_store_is_no_miss(driver):
    class Broken(InMemoryByteStore):
        def mget(self, keys):
            msg = "planned"
            raise ConnectionError(msg)

        async def amget(self, keys):
            return self.mget(keys)

    with pytest.raises(ConnectionError, match="planned"):
        await driver(ByteStoreEmbeddingCache(Broken()), "mget", MODEL, ["a"])


def test_repr_shows_no_credentials():
    cache = ByteStoreEmbeddingCache(InMemoryByteStore(), "ns")
    assert repr(cache) == "ByteStoreEmbeddingCache(InMemoryByteStore, namespace='ns')"
