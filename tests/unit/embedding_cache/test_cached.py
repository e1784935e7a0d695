"""Embeddings with a cache: each text once, and nothing lost to a cache that fails."""

import asyncio
import copy
import logging
import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings, FakeEmbeddings
from langchain_core.stores import InMemoryByteStore

from langchain_rag.embedding_cache import (
    TALLY,
    ByteStoreEmbeddingCache,
    CachedEmbeddings,
    EmbeddingTally,
    identity_of_embeddings,
    tallying,
)
from langchain_rag.embedding_cache._lookup import Asked, LookUp
from langchain_rag.errors import ConfigurationError, StoreError
from langchain_rag.testing import CountingEmbeddings


class Scripted(CountingEmbeddings):
    """Answers with what a function makes of the vectors, or raises what it raises."""

    def __init__(
        self, answer: Callable[[Any], Any] = lambda vectors: vectors, size: int = 8
    ) -> None:
        super().__init__(size)
        self.answer = answer

    def embed_documents(self, texts):
        return self.answer(super().embed_documents(texts))


class NotSo(CountingEmbeddings):
    """Has native async methods only, as far as documents go."""

    def embed_documents(self, texts):
        raise NotImplementedError

    async def aembed_documents(self, texts):
        return CountingEmbeddings.embed_documents(self, texts)


class Broken:
    """A cache of which every method fails."""

    def __getattr__(self, name):
        def fail(*args, **kwargs):
            msg = f"planned: {name}"
            raise ConnectionError(msg)

        return fail


@pytest.fixture
def store():
    return InMemoryByteStore()


@pytest.fixture
def cache(store):
    return ByteStoreEmbeddingCache(store)


def cached(embeddings, cache, **options):
    return CachedEmbeddings(embeddings, cache, model="words", **options)


def planned(vectors):
    msg = "planned"
    raise ConnectionError(msg)


def vectors_of(embeddings, texts):
    return [embeddings.vector(text) for text in texts]


async def test_each_text_is_embedded_once(driver, cache):
    model = CountingEmbeddings(8)
    embeddings = cached(model, cache)
    texts = ["a b", "c", "a b", "", "c"]
    assert await driver(embeddings, "embed_documents", texts) == vectors_of(model, texts)
    assert model.documents == ["a b", "c", ""]
    more = ["d", *texts, "e"]
    assert await driver(embeddings, "embed_documents", more) == vectors_of(model, more)
    assert model.documents == ["a b", "c", "", "d", "e"]
    again = CountingEmbeddings(8)
    found = await driver(cached(again, cache), "embed_documents", more)
    assert found == vectors_of(model, more)
    assert again.documents == []


async def test_no_texts_ask_nobody(driver):
    model = CountingEmbeddings(8)
    assert await driver(cached(model, Broken()), "embed_documents", []) == []
    assert model.batches == 0


async def test_equal_texts_do_not_share_a_list(driver, cache):
    embeddings = cached(CountingEmbeddings(8), cache)
    for _ in range(2):
        first, second = await driver(embeddings, "embed_documents", ["a", "a"])
        first.clear()
        assert len(second) == 8


async def test_queries_are_the_models_own(driver, cache):
    model = CountingEmbeddings(8)
    embeddings = cached(model, cache)
    with tallying() as tally:
        for _ in range(2):
            assert await driver(embeddings, "embed_query", "a") == model.vector("a")
    assert model.queries == ["a", "a"]
    assert cache.stats().entries == 0
    assert tally == EmbeddingTally()


async def test_async_calls_reach_the_models_async_methods(cache):
    assert len(await cached(NotSo(8), cache).aembed_documents(["a"])) == 1
    with pytest.raises(NotImplementedError):
        cached(NotSo(8), cache).embed_documents(["b"])


async def test_what_was_answered_before_an_error_is_kept(driver, cache):
    calls = []

    def third_fails(vectors):
        calls.append(len(vectors))
        return planned(vectors) if len(calls) == 3 else vectors

    texts = [str(n) for n in range(10)]
    model = Scripted(third_fails)
    embeddings = cached(model, cache, batch_size=3)
    with tallying() as tally, pytest.raises(ConnectionError, match="planned"):
        await driver(embeddings, "embed_documents", texts)
    assert (calls, tally.embedded) == ([3, 3, 3], 6)
    model.reset()
    found = await driver(embeddings, "embed_documents", texts)
    assert found == vectors_of(model, texts)
    assert model.documents == texts[6:]


async def test_batches_are_of_a_moderate_size(driver, cache):
    calls = []

    def counted(vectors):
        calls.append(len(vectors))
        return vectors

    model = Scripted(counted)
    await driver(cached(model, cache), "embed_documents", [str(n) for n in range(600)])
    assert calls == [256, 256, 88]


@pytest.mark.parametrize(
    "answer", [lambda vectors: vectors[:-1], lambda vectors: vectors * 2, lambda vectors: []]
)
async def test_too_few_vectors_are_an_error_and_not_kept(driver, cache, answer):
    with tallying() as tally, pytest.raises(StoreError, match="Scripted answered 2 texts with"):
        await driver(cached(Scripted(answer), cache), "embed_documents", ["a", "b"])
    assert cache.stats().entries == tally.embedded == 0


async def test_vectors_of_several_lengths_are_not_kept(driver, cache, caplog):
    model = Scripted(lambda vectors: [vectors[0], vectors[1][:-1]])
    found = await driver(cached(model, cache), "embed_documents", ["a", "b"])
    assert [len(vector) for vector in found] == [8, 7]  # the store's business
    assert model.batches == 1
    assert cache.stats().entries == 0
    assert "several lengths" in caplog.text


async def test_numbers_that_are_none_are_not_kept(driver, cache, caplog):
    model = Scripted(lambda vectors: [[math.nan] * 8, *vectors[1:]])
    await driver(cached(model, cache), "embed_documents", ["a", "b"])
    assert cache.stats().entries == 1
    assert "not cached" in caplog.text


async def test_a_model_that_changed_under_its_name(driver, cache, caplog):
    await driver(cached(CountingEmbeddings(8), cache), "embed_documents", ["a", "b"])
    model = CountingEmbeddings(16)
    with tallying() as tally:
        found = await driver(cached(model, cache), "embed_documents", ["a", "b", "c"])
    assert found == vectors_of(model, ["a", "b", "c"])
    assert (tally.embedded, tally.hits) == (4, 0)
    assert "another length" in caplog.text
    # From then on the cache has the new ones.
    model.reset()
    found = await driver(cached(model, cache), "embed_documents", ["a", "b", "c"])
    assert (found, model.batches) == (vectors_of(model, ["a", "b", "c"]), 0)


async def test_a_cache_with_vectors_of_several_lengths(driver, cache, caplog):
    cache.mset("words", [("a", [1.0]), ("b", [1.0, 2.0])])
    model = CountingEmbeddings(8)
    found = await driver(cached(model, cache), "embed_documents", ["a", "b"])
    assert found == vectors_of(model, ["a", "b"])
    assert "several lengths" in caplog.text


async def test_a_cache_that_fails_costs_an_embedding(driver, caplog):
    model = CountingEmbeddings(8)
    with tallying() as tally, caplog.at_level(logging.WARNING):
        found = await driver(cached(model, Broken()), "embed_documents", ["a", "b"])
    assert found == vectors_of(model, ["a", "b"])
    assert [record.getMessage() for record in caplog.records] == [
        "The embedding cache could not be read.",
        "Vectors could not be kept in the embedding cache.",
    ]
    assert "planned: " in caplog.text
    assert (tally.embedded, tally.hits) == (2, 0)


@pytest.mark.parametrize("answer", [[], [[1.0]], [[1.0], []], [[1.0], 7], None])
async def test_a_cache_that_answers_anything(driver, caplog, answer):
    class Odd(Broken):
        def mget(self, model, texts):
            return answer

        async def amget(self, model, texts):
            return answer

    model = CountingEmbeddings(8)
    found = await driver(cached(model, Odd()), "embed_documents", ["a", "b"])
    assert found == vectors_of(model, ["a", "b"])
    assert len(caplog.records) == 2


async def test_a_damaged_value_costs_an_embedding(driver, cache, store):
    model = CountingEmbeddings(8)
    await driver(cached(model, cache), "embed_documents", ["a", "b"])
    store.store[min(store.store)] = b"\0"
    model.reset()
    found = await driver(cached(model, cache), "embed_documents", ["a", "b"])
    assert found == vectors_of(model, ["a", "b"])
    assert len(model.documents) == 1


async def test_a_cancelled_task_sees_its_write_to_the_end(store):
    kept: list[str] = []
    begun = asyncio.Event()

    class Slow(ByteStoreEmbeddingCache):
        async def amset(self, model, pairs):
            begun.set()
            await asyncio.sleep(0.05)
            kept.extend(text for text, _ in pairs)

    task = asyncio.create_task(
        cached(CountingEmbeddings(8), Slow(store)).aembed_documents(["a"])
    )
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kept == ["a"]


async def test_tallies_of_tasks_do_not_mix(cache):
    embeddings = cached(CountingEmbeddings(8), cache)
    await embeddings.aembed_documents(["0"])

    async def work(count):
        with tallying() as tally:
            for number in range(count):
                await embeddings.aembed_documents([str(number), f"{count} {number}"])
                await asyncio.sleep(0)
        return tally.embedded + tally.hits, tally.hits >= 1

    found = await asyncio.gather(*map(work, (1, 5, 9)))
    assert found == [(2, True), (10, True), (18, True)]
    assert TALLY.get() is None


async def test_a_tally_reaches_the_executor(cache):
    """As of a store whose async methods are its sync ones in threads."""

    class Threaded(CountingEmbeddings):
        aembed_documents = Embeddings.aembed_documents

    with tallying() as tally:
        await Embeddings.aembed_documents(cached(Threaded(8), cache), ["a", "b"])
        await cached(Threaded(8), cache).aembed_documents(["b", "c"])
    assert (tally.embedded, tally.hits) == (3, 1)


def test_a_tally_may_go_on():
    mine = EmbeddingTally(embedded=3)
    with tallying(mine) as tally, tallying() as inner:
        TALLY.get().count(hits=1)  # type: ignore[union-attr]
    assert tally is mine
    assert (mine, inner) == (EmbeddingTally(3), EmbeddingTally(0, 1))


def test_threads_count_into_one_tally():
    tally = EmbeddingTally()

    def work():
        for _ in range(2000):
            tally.count(embedded=1, hits=2)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally == EmbeddingTally(16_000, 32_000)


def test_threads_of_one_cache(cache):
    model = CountingEmbeddings(8)
    embeddings = cached(model, cache, batch_size=4)
    texts, errors, start = [str(n) for n in range(50)], [], threading.Barrier(6)

    def work(turn):
        start.wait()
        order = texts[turn:] + texts[:turn]
        if embeddings.embed_documents(order) != vectors_of(model, order):
            errors.append(turn)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert cache.stats().entries == 50


def test_models_do_not_mix(cache):
    small, large = (DeterministicFakeEmbedding(size=size) for size in (4, 8))
    for _ in range(2):
        for model in (small, large):
            found = CachedEmbeddings(model, cache).embed_documents(["a"])
            assert found == model.embed_documents(["a"])
    assert len(cache.stats().by_model) == 2
    assert cache.purge(model=CachedEmbeddings(small, cache).fingerprint) == 1


def test_embeddings_that_do_not_say_what_they_are(cache):
    with pytest.raises(ConfigurationError, match=r"FakeEmbeddings does not say.*model='my-mo"):
        CachedEmbeddings(FakeEmbeddings(size=4), cache)
    embeddings = CachedEmbeddings(FakeEmbeddings(size=4), cache, model="frozen")
    assert embeddings.embed_documents(["a"]) == embeddings.embed_documents(["a"])


@pytest.mark.parametrize("model", ["", "a\0", "\ud800", "x" * 70_000])
def test_a_model_that_cannot_be_stored(cache, model):
    with pytest.raises(ConfigurationError, match=r"cannot be stored: name it") as error:
        CachedEmbeddings(CountingEmbeddings(), cache, model=model)
    assert len(str(error.value)) < 300
    assert "\0" not in str(error.value)


def test_a_batch_of_nothing(cache):
    with pytest.raises(ConfigurationError, match="batch_size is 0"):
        cached(CountingEmbeddings(), cache, batch_size=0)


def test_caches_do_not_nest(cache):
    model = CountingEmbeddings(8)
    once = cached(model, cache)
    twice = CachedEmbeddings(once, Broken())
    assert twice.wrapped is model
    assert (twice.fingerprint, identity_of_embeddings(twice)) == ("words", "words")


def test_other_attributes_are_the_models(cache):
    embeddings = cached(CountingEmbeddings(8), cache)
    assert embeddings.size == 8
    assert not hasattr(embeddings, "embed_image")
    assert isinstance(embeddings, Embeddings)
    assert repr(embeddings) == "CachedEmbeddings(CountingEmbeddings, model='words')"


def test_copies(cache):
    embeddings = cached(CountingEmbeddings(8), cache)
    shallow = copy.copy(embeddings)
    assert (shallow.wrapped, shallow.cache) == (embeddings.wrapped, cache)
    assert not hasattr(CachedEmbeddings.__new__(CachedEmbeddings), "anything")


async def test_what_langchain_does_not_ask_of_the_ends(driver, cache):
    look_up, asked = LookUp(cache, "words"), Asked(CountingEmbeddings(8))
    for call in (lambda: look_up.mdelete(["a"]), look_up.yield_keys):
        with pytest.raises(NotImplementedError):
            call()
    assert await driver(asked, "embed_query", "a") == CountingEmbeddings(8).vector("a")
