"""What every cache does; the tests of each inherit it.

A subclass, or its module, has the fixtures `driver` and `make_cache`, which makes a cache of
a namespace on the test's one store; `of` says what the cache keeps.
"""

import asyncio
import logging
import math
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from langchain_rag.caches import cache as caches_cache
from langchain_rag.document_transformers import CachedPiece, CacheKey
from tests.unit.caches.kept import (
    MODEL,
    OTHER,
    QUESTIONS,
    SUMMARIES,
    Embeddings,
    Variations,
    digest,
    key,
    pieces,
)

# What is left of two values of each label (a, A of one, b, B of the other), the capital ones
# written a day later, at the time of the purge two days and one day old.
PURGES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"label": "its own"}, "bB"),
    ({"label": "its beginning"}, "aAbB"),
    ({"label": ""}, "aAbB"),
    ({"label": "%"}, "aAbB"),
    ({"label": "\0"}, "aAbB"),
    ({"label": "\ud800"}, "aAbB"),
    ({"older_than": timedelta(days=1, hours=1)}, "AB"),
    ({"older_than": timedelta(days=2)}, "aAbB"),  # not older: just as old
    ({"older_than": timedelta(0)}, ""),
    ({"older_than": timedelta.max}, "aAbB"),
    ({"older_than": timedelta(hours=36), "label": "the other"}, "aAB"),
]


class CacheBehaviour:
    of: Any
    many = 2500
    """More than a SQL statement takes."""

    @pytest.fixture
    def kept(self):
        return self.of

    @pytest.fixture
    def cache(self, make_cache):
        return make_cache()

    @pytest.fixture
    def clock(self, monkeypatch):
        """The time, in a list that a test changes."""
        clock = [1_800_000_000.0]
        monkeypatch.setattr(caches_cache, "now", lambda: clock[0])
        return clock

    def test_it_is_a_cache(self, cache):
        assert isinstance(cache, self.of.protocol)

    async def test_nothing_to_do(self, driver, cache):
        await self.of.mset(driver, cache, [])
        assert await self.of.mget(driver, cache, []) == []
        assert await self.of.mget(driver, cache, [1]) == [None]
        assert await driver(cache, "purge") == 0

    async def test_nothing_aliases_what_is_kept(self, driver, cache):
        given, value = self.of.value(1), self.of.value(1)
        await self.of.mset(driver, cache, [(1, given)])
        given.append(self.of.value(2)[0])
        first, second = await self.of.mget(driver, cache, [1, 1])
        first.clear()
        assert second == value
        assert await self.of.mget(driver, cache, [1]) == [value]

    async def filled(self, driver, cache, clock):
        """A value of each of two labels, and a day later another one."""
        for number in (1, 2):
            for label in (self.of.label, self.of.other):
                value = self.of.value(number, length=2)
                await self.of.mset(driver, cache, [(number, value)], label)
            clock[0] += timedelta(days=1).total_seconds()

    async def left(self, driver, cache):
        found = await self.of.mget(driver, cache, [1, 2], self.of.label)
        found += await self.of.mget(driver, cache, [1, 2], self.of.other)
        return [name for name, one in zip("aAbB", found, strict=True) if one]

    async def test_purging(self, driver, make_cache, clock):
        labels = {
            "its own": self.of.label,
            "its beginning": self.of.label[:-1],
            "the other": self.of.other,
        }
        for number, (conditions, left) in enumerate(PURGES):
            cache, asked = make_cache(f"purge {number}"), dict(conditions)
            if "label" in asked:
                label = asked.pop("label")
                asked[self.of.by] = labels.get(label, label)
            await self.filled(driver, cache, clock)
            assert await driver(cache, "purge", **asked) == 4 - len(left), asked
            assert await self.left(driver, cache) == list(left), asked
            assert (await driver(cache, "stats")).entries == len(left)

    async def test_a_negative_age_is_a_mistake(self, driver, cache, clock):
        await self.filled(driver, cache, clock)
        with pytest.raises(ValueError, match="older_than is -1 day"):
            await driver(cache, "purge", older_than=timedelta(days=-1))
        assert await self.left(driver, cache) == list("aAbB")

    async def test_statistics(self, driver, make_cache, clock):
        of, cache = self.of, make_cache()
        empty = await driver(cache, "stats")
        assert (empty.entries, of.size(empty), getattr(empty, f"by_{of.by}")) == (0, 0, {})
        assert (empty.oldest, empty.newest, empty.hits, empty.misses) == (None, None, 0, 0)
        assert str(empty) == f"0 {of.noun}, 0 {of.unit}\n0 hits and 0 misses"
        first = datetime.fromtimestamp(clock[0], UTC)
        await self.filled(driver, cache, clock)
        await of.mget(driver, cache, [1, 1, 3])
        stats = await driver(cache, "stats")
        labels = {of.label: 2, of.other: 2}
        assert (stats.entries, getattr(stats, f"by_{of.by}")) == (4, labels)
        assert (stats.oldest, stats.newest) == (first, first + timedelta(days=1))
        assert (stats.hits, stats.misses) == (2, 1)
        lines = "".join(f"- {label}: 2\n" for label in sorted(labels))
        assert str(stats) == (
            f"4 {of.noun}, {of.size(stats)} {of.unit}\n{lines}"
            "written 2027-01-15 08:00 to 2027-01-16 08:00\n2 hits and 1 misses (67 % hits)"
        )
        # Hits and misses are the object's own, the rest is the store's.
        other = await driver(make_cache(), "stats")
        assert (other.hits, other.misses, other.entries) == (0, 0, 4)

    async def test_namespaces_share_nothing(self, driver, make_cache):
        names = ["", "one", "one/two", "Gauß: 'x'", self.of.codec.folder]
        caches = [make_cache(name) for name in names]
        values = [[self.of.value(number)] for number in range(len(names))]
        for cache, [value] in zip(caches, values, strict=True):
            await self.of.mset(driver, cache, [(1, value)])
        for cache, value in zip(caches, values, strict=True):
            assert await self.of.mget(driver, cache, [1]) == value
            assert (await driver(cache, "stats")).entries == 1
        assert await driver(caches[0], "purge", **{self.of.by: self.of.label}) == 1
        assert await driver(caches[1], "purge") == 1
        found = [await self.of.mget(driver, cache, [1]) for cache in caches]
        assert found == [[None], [None], *values[2:]]

    async def test_many_in_one_call(self, driver, cache):
        pairs = [(number, self.of.value(number)) for number in range(self.many)]
        await self.of.mset(driver, cache, pairs)
        numbers = [number for number, _ in reversed(pairs)]
        found = await self.of.mget(driver, cache, [-1, *numbers])
        assert found == [None, *(value for _, value in reversed(pairs))]
        assert (await driver(cache, "stats")).entries == self.many
        assert await driver(cache, "purge", **{self.of.by: self.of.label}) == self.many

    # The clock stands, so that all values are as long: a store that writes in place, as
    # LocalFileStore does, would else now and then end with a mixture, which is a miss.
    async def test_many_write_and_read_at_a_time(self, driver, cache, clock):
        numbers, start = [1, 2, 3], threading.Barrier(6)
        whole = [None, *(self.of.value(writer, length=500) for writer in range(6))]

        async def work(writer):
            for turn in range(5):
                order = numbers if (writer + turn) % 2 else numbers[::-1]  # a ring, if it could
                pairs = [(number, whole[writer + 1]) for number in order]
                await self.of.mset(driver, cache, pairs)
                for found in await self.of.mget(driver, cache, numbers):
                    assert found in whole

        if driver.name == "async":
            await asyncio.gather(*(work(writer) for writer in range(6)))
        else:
            errors = []

            def in_thread(writer):
                try:
                    start.wait()
                    asyncio.run(work(writer))
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=in_thread, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert errors == []
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.hits + stats.misses) == (3, 6 * 5 * 3)
        assert None not in await self.of.mget(driver, cache, numbers)


class VariationCacheBehaviour(CacheBehaviour):
    of = Variations

    async def test_what_was_kept_is_found_in_the_order_asked(self, driver, cache):
        one = [CachedPiece("questions", 'Who was Gauß?\r\n\t\x01"'), CachedPiece("", "")]
        two = pieces("\U0001f600 \u2028 \\ud800", "b", "b")
        await driver(cache, "mset", [(key(1), one), (key(2), two)])
        found = await driver(cache, "mget", [key(2), key(0), key(1), key(2)])
        assert found == [two, None, one, two]
        assert {type(piece) for piece in found[0]} == {CachedPiece}

    async def test_fingerprint_and_content_tell_answers_apart(self, driver, cache):
        keys = [CacheKey(SUMMARIES, digest(f), digest(c)) for f in "ab" for c in "cd"]
        await driver(cache, "mset", [(one, pieces(str(one))) for one in keys])
        assert await driver(cache, "mget", keys) == [pieces(str(one)) for one in keys]
        # The label is none of it: the class is in the fingerprint.
        renamed = keys[0]._replace(transformer="Renamed")
        assert await driver(cache, "mget", [renamed]) == [pieces(str(keys[0]))]

    async def test_a_fingerprint_of_the_users_own_may_be_any_text(self, driver, cache):
        texts = ["my prompt, v1", "", "../..", "\0", "\ud800", "é" * 3000, "A" * 64]
        keys = [CacheKey(SUMMARIES, text, digest(1)) for text in texts]
        keys += [CacheKey(SUMMARIES, digest(1), text) for text in texts]
        await driver(cache, "mset", [(one, pieces(ascii(one))) for one in keys])
        assert await driver(cache, "mget", keys) == [pieces(ascii(one)) for one in keys]

    async def test_the_last_answer_stays(self, driver, cache, clock):
        await driver(cache, "mset", [(key(1), pieces("a", "bcd"))])
        clock[0] += 60
        again = key(1)._replace(transformer="Renamed")
        await driver(cache, "mset", [(key(1), pieces("x")), (again, pieces("yz"))])
        assert await driver(cache, "mget", [key(1)]) == [pieces("yz")]
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.characters) == (1, 2)
        assert stats.by_transformer == {"Renamed": 1}
        assert stats.oldest == stats.newest == datetime.fromtimestamp(clock[0], UTC)

    @pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
    async def test_what_cannot_be_kept_keeps_nothing_else_out(self, driver, cache, caplog, bad):
        refused = [
            (key(1), pieces("good", bad)),
            (key(2), [CachedPiece(bad, "good")]),
            (CacheKey(bad, digest(1), digest(3)), pieces("good")),
        ]
        with caplog.at_level(logging.WARNING, "langchain_rag"):
            await driver(cache, "mset", [*refused, (key(4), pieces("good"))])
            await driver(cache, "mset", refused)
        found = await driver(cache, "mget", [key(1), key(2), refused[2][0], key(4)])
        assert found == [None, None, None, pieces("good")]
        assert [record.levelname for record in caplog.records] == ["WARNING"] * 6
        assert "is not cached" in caplog.text
        assert "NUL characters or lone surrogates" in caplog.text
        assert "'SummarizeTransformer'" in caplog.text
        assert bad not in caplog.text  # which a terminal or a log file may not take

    async def test_an_answer_with_nothing_in_it_is_not_kept(self, driver, cache, caplog):
        await driver(cache, "mset", [(key(1), [])])
        assert await driver(cache, "mget", [key(1)]) == [None]
        assert "nothing usable" in caplog.text

    async def test_the_characters_of_all_pieces_are_summed_up(self, driver, cache, clock):
        await driver(cache, "mset", [(key(0, "Größer"), pieces("ab", "ß"))])
        await self.filled(driver, cache, clock)
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.characters) == (5, 4 * 2 + 3)
        assert stats.by_transformer == {SUMMARIES: 2, QUESTIONS: 2, "Größer": 1}
        assert "\n- GenerateQuestionsTransformer: 2\n- Größer: 1\n- Summ" in str(stats)


EXACT = [0.1, -0.0, 0.0, 5e-324, -1.7976931348623157e308, 1 / 3, 1e-45, 3.4028234663852886e38]

UNKEPT: list[Any] = [
    [],
    [math.nan],
    [0.0, math.inf],
    [-math.inf],
    ["x"],
    [None],
    None,
    7,
    "ab",
    b"12345678",
    [10**400],
    [2**53 + 1],
    [[1.0, 2.0]],
    np.array([math.nan]),
    np.array([]),
]


def same(left, right):
    """Equal, the sign of zero included, and all Python floats."""
    if left is None or right is None:
        return left is right
    return [number.hex() for number in left] == [float(number).hex() for number in right]


class EmbeddingCacheBehaviour(CacheBehaviour):
    of = Embeddings

    async def test_what_was_kept_is_found_in_the_order_asked(self, driver, cache):
        await driver(cache, "mset", MODEL, [("a", EXACT), ("b", [0.5])])
        found = await driver(cache, "mget", MODEL, ["b", "none", "a", "b"])
        wanted = [[0.5], None, EXACT, [0.5]]
        assert all(same(*pair) for pair in zip(found, wanted, strict=True))

    async def test_numbers_of_any_kind_come_back_as_floats(self, driver, cache):
        vectors: dict[str, Any] = {
            "singles": np.array([0.1, -2.5], dtype=np.float32),
            "doubles": np.array([0.1, -2.5]),
            "listed": list(np.array([0.1, -2.5], dtype=np.float32)),
            "tuple": (0.25, -0.0),
            "whole": [3, -127],
        }
        await driver(cache, "mset", MODEL, list(vectors.items()))
        found = await driver(cache, "mget", MODEL, list(vectors))
        assert all(same(*pair) for pair in zip(found, vectors.values(), strict=True))
        assert {type(number) for vector in found for number in vector} == {float}

    async def test_model_and_text_tell_vectors_apart(self, driver, cache):
        pairs = [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), (OTHER, "c")]
        for number, (model, text) in enumerate(pairs):
            await driver(cache, "mset", model, [(text, [float(number)])])
        for number, (model, text) in enumerate(pairs):
            assert await driver(cache, "mget", model, [text]) == [[float(number)]]

    async def test_a_text_may_be_any_text(self, driver, cache):
        texts = ["", "../..", "\0", "\ud800", "\U0001f600" * 3000, "a\r\n", "A" * 64]
        await driver(cache, "mset", MODEL, [(text, [float(len(text))]) for text in texts])
        found = await driver(cache, "mget", MODEL, texts)
        assert found == [[float(len(text))] for text in texts]

    async def test_the_last_vector_stays(self, driver, cache, clock):
        await driver(cache, "mset", MODEL, [("a", [1.0, 2.0, 3.0])])
        before = await driver(cache, "stats")
        clock[0] += 60
        await driver(cache, "mset", MODEL, [("a", [4.0]), ("a", [5.0])])
        assert await driver(cache, "mget", MODEL, ["a"]) == [[5.0]]
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.by_model) == (1, {MODEL: 1})
        assert stats.size == before.size - 8
        assert stats.oldest == stats.newest == datetime.fromtimestamp(clock[0], UTC)

    async def test_what_cannot_be_kept_keeps_nothing_else_out(self, driver, cache, caplog):
        for number, bad in enumerate(UNKEPT):
            good, pair = f"good {number}", [("bad", bad), ("too", bad)]
            with caplog.at_level(logging.WARNING, "langchain_rag"):
                await driver(cache, "mset", MODEL, [pair[0], (good, [1.0]), pair[1]])
                await driver(cache, "mset", MODEL, pair[:1])
            found = await driver(cache, "mget", MODEL, ["bad", good, "too"])
            assert found == [None, [1.0], None], bad
            first, second = [record.getMessage() for record in caplog.records]
            assert first.startswith(f"2 of 3 vectors of '{MODEL}' are not cached"), bad
            assert second.startswith("1 of 1 vectors"), bad
            caplog.clear()

    async def test_a_model_that_no_store_takes(self, driver, cache, caplog):
        for bad in ["a\0b", "\ud800", "x" * 70_000]:
            await driver(cache, "mset", bad, [("a", [1.0])])
            assert await driver(cache, "mget", bad, ["a"]) == [None]
            [record] = caplog.records
            assert "identity" in record.getMessage()
            assert len(record.getMessage()) < 400
            assert "\0" not in caplog.text
            caplog.clear()

    async def test_the_bytes_of_all_values_are_summed_up(self, driver, cache, clock):
        await self.filled(driver, cache, clock)
        assert 4 * 8 < (await driver(cache, "stats")).size < 4 * 100
