"""A store gets a cache without being built again."""

import logging
import re

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.embedding_cache import (
    ByteStoreEmbeddingCache,
    CachedEmbeddings,
    tallying,
    wire,
)
from langchain_rag.errors import ConfigurationError
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.testing._over_store import opened
from langchain_rag.vectorstores import RAGVectorStore, WrapperVectorStore
from tests.conformance import stores

EVERYDAY = (stores.InMemory, stores.ChromaInMemory)
INTEGRATION = (stores.Postgres, stores.MilvusLite)
WIRED = [
    pytest.param(
        kind,
        marks=[
            *([] if kind in EVERYDAY else [pytest.mark.full]),
            *([pytest.mark.integration] if kind in INTEGRATION else []),
        ],
    )
    for kind in stores.STORES
    if kind is not stores.SqliteVec  # which is refused
]


@pytest.fixture
def cache():
    return ByteStoreEmbeddingCache(InMemoryByteStore())


@pytest.mark.parametrize("kind", WIRED)
async def test_real_stores(driver, cache, kind, tmp_path, request):
    suite = kind()
    suite.folder = tmp_path
    if kind is stores.Postgres:
        suite.url = request.getfixturevalue("postgres_url")
    model = CountingEmbeddings(8)
    ids = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(3)]
    async with opened(suite.make_store(model)) as store:
        model.reset()  # Qdrant asks for one to see how long its vectors are
        cached = wire(store, cache, model="words")
        assert isinstance(cached, CachedEmbeddings)
        assert store.embeddings is cached
        assert cached.wrapped is model
        with tallying() as tally:
            await driver(store, "add_texts", ["a b", "c d"], ids=ids[:2])
            await driver(store, "delete", ids[:2])
            await driver(store, "add_texts", ["c d", "e f", "a b"], ids=ids)
        assert model.documents == ["a b", "c d", "e f"]
        assert (tally.embedded, tally.hits) == (3, 2)
        [found] = await driver(store, "similarity_search", "c d", k=1)
        assert found.page_content == "c d"


@pytest.mark.full
@pytest.mark.integration
async def test_a_store_that_is_async_only(cache, postgres_url):
    suite = stores.Postgres()
    suite.url, suite.synchronous = postgres_url, False
    async with opened(suite.make_store(CountingEmbeddings(8))) as store:
        wire(store, cache, model="words")
        with tallying() as tally:
            await store.aadd_texts(["a b", "c d"])
            await store.aadd_texts(["a b"])
        assert (tally.embedded, tally.hits) == (2, 1)


async def test_the_store_below_a_rag_store(driver, cache):
    below = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    rag = RAGVectorStore(
        vectorstore=WrapperVectorStore(below), docstore=InMemoryStore(), source_id_key=None
    )
    cached = wire(rag, cache)
    assert rag.embeddings is below.embeddings is cached is not None
    with tallying() as tally:
        await driver(rag, "add_texts", ["a", "b"], ids=["1", "2"])
    assert tally.embedded == cache.stats().entries > 0
    assert len(await driver(rag, "similarity_search", "a", k=2)) == 2


def test_the_store_is_as_it_was_with_another_cache(cache):
    model = CountingEmbeddings(8)
    store = InMemoryVectorStore(model)
    first = wire(store, cache, model="words")
    second = wire(store, ByteStoreEmbeddingCache(InMemoryByteStore(), "other"))
    assert store.embeddings is second is not first
    assert second is not None
    assert (second.wrapped, second.fingerprint) == (model, "words")
    assert second.cache is not cache
    third = wire(store, cache, model="other words")
    assert third is not None
    assert (third.wrapped, third.fingerprint) == (model, "other words")


def test_embeddings_of_two_stores_get_a_cache_each(cache):
    model = DeterministicFakeEmbedding(size=8)
    one, other = InMemoryVectorStore(model), InMemoryVectorStore(model)
    wire(one, cache)
    assert other.embeddings is model


def test_embeddings_that_do_not_say_what_they_are(cache, caplog):
    model = CountingEmbeddings(8)
    store = InMemoryVectorStore(model)
    with caplog.at_level(logging.INFO, "langchain_rag"):
        assert wire(store, cache) is None
    assert store.embeddings is model
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert "CountingEmbeddings does not say which vectors it makes" in caplog.text


class Odd(InMemoryVectorStore):
    """Has embeddings of a test's choice."""

    chosen: object = None

    @property
    def embeddings(self):
        return self.chosen


class Unwilling(Odd):
    @property
    def embeddings(self):
        raise NotImplementedError


@pytest.mark.parametrize("kind", [Odd, Unwilling])
@pytest.mark.parametrize("chosen", [None, [DeterministicFakeEmbedding(size=8)] * 2, "name"])
def test_a_store_without_embeddings_of_its_own(cache, caplog, kind, chosen):
    store = kind(DeterministicFakeEmbedding(size=8))
    store.chosen = chosen
    with caplog.at_level(logging.INFO, "langchain_rag"):
        assert wire(store, cache) is None
    assert store.chosen is chosen
    assert "no embeddings that can be cached" in caplog.text


class Hidden(InMemoryVectorStore):
    """Keeps its embeddings where nobody finds them."""

    def __init__(self, embeddings):
        super().__init__(embeddings)
        self._get = lambda: embeddings

    @property
    def embeddings(self):
        return self._get()


class Frozen(InMemoryVectorStore):
    def __init__(self, embeddings):
        super().__init__(embeddings)
        self.again = embeddings
        self._frozen = True

    def __setattr__(self, name, value):
        if name == "again" and hasattr(self, "_frozen"):
            msg = "frozen"
            raise AttributeError(msg)
        super().__setattr__(name, value)


@pytest.mark.parametrize("kind", [Hidden, Frozen])
def test_a_store_that_cannot_be_wired_is_as_it_was(cache, kind):
    model = DeterministicFakeEmbedding(size=8)
    store = kind(model)
    by_hand = re.escape(f"{kind.__name__}(..., CachedEmbeddings(embeddings, cache))")
    with pytest.raises(ConfigurationError, match=by_hand):
        wire(store, cache)
    assert store.embeddings is store.embedding is model


async def test_methods_that_a_store_took_out(driver, cache):
    class Taking(InMemoryVectorStore):
        def __init__(self, embeddings):
            super().__init__(embeddings)
            self.embed = embeddings.embed_documents

    model = CountingEmbeddings(8)
    store = Taking(model)
    wire(store, cache, model="words")
    store.embed(["a"])
    assert cache.stats().entries == 1


def test_a_model_that_cannot_be_stored(cache):
    store: VectorStore = InMemoryVectorStore(CountingEmbeddings(8))
    with pytest.raises(ConfigurationError, match="cannot be stored"):
        wire(store, cache, model="\0")


async def test_a_store_that_delegates_to_a_part_of_its_own(driver, cache):
    class Delegating(WrapperVectorStore):
        def __init__(self, part):
            self._Delegating__part = part

        _vectorstore = property(lambda self: vars(self)["_Delegating__part"])
        vectorstore = None  # type: ignore[assignment]

    class Part(InMemoryVectorStore):
        """Of the same package."""

    model = CountingEmbeddings(8)
    store = Delegating(Part(model))
    cached = wire(store, cache, model="words")
    assert cached is not None
    assert store.embeddings is cached
    assert cached.wrapped is model
    await driver(store, "add_texts", ["a"])
    assert cache.stats().entries == 1
