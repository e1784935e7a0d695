"""What every variation cache does; the tests of each inherit it.

A subclass, or its module, has the fixtures `driver` and `make_cache`, which makes a cache of
a namespace on the test's one store.
"""

import asyncio
import hashlib
import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from langchain_rag.caches import cache as caches_cache
from langchain_rag.document_transformers import CachedPiece, CacheKey, VariationCache

SUMMARIES, QUESTIONS = "SummarizeTransformer", "GenerateQuestionsTransformer"


def digest(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


def key(content, transformer=SUMMARIES):
    return CacheKey(transformer, digest(transformer), digest(content))


def pieces(*texts):
    return [CachedPiece("summary", text) for text in texts]


# What is left of a summary (s) and questions (q) of two days ago, and the same (S, Q) of
# yesterday.
PURGES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"transformer": SUMMARIES}, "qQ"),
    ({"transformer": "Summarize"}, "sSqQ"),
    ({"transformer": ""}, "sSqQ"),
    ({"transformer": "%"}, "sSqQ"),
    ({"transformer": "\0"}, "sSqQ"),
    ({"transformer": "\ud800"}, "sSqQ"),
    ({"older_than": timedelta(days=1, hours=1)}, "SQ"),
    ({"older_than": timedelta(days=2)}, "sSqQ"),  # not older: just as old
    ({"older_than": timedelta(0)}, ""),
    ({"older_than": timedelta.max}, "sSqQ"),
    ({"older_than": timedelta(hours=36), "transformer": QUESTIONS}, "sSQ"),
]


class VariationCacheBehaviour:
    many = 2500
    """More than a SQL statement takes."""

    @pytest.fixture
    def cache(self, make_cache):
        return make_cache()

    @pytest.fixture
    def clock(self, monkeypatch):
        """The time, in a list that a test changes."""
        clock = [1_800_000_000.0]
        monkeypatch.setattr(caches_cache, "now", lambda: clock[0])
        return clock

    def test_it_is_a_variation_cache(self, cache):
        assert isinstance(cache, VariationCache)

    async def test_what_was_kept_is_found_in_the_order_asked(self, driver, cache):
        one = [CachedPiece("questions", 'Who was Gauß?\r\n\t\x01"'), CachedPiece("", "")]
        two = pieces("\U0001f600 \u2028 \\ud800", "b", "b")
        await driver(cache, "mset", [(key(1), one), (key(2), two)])
        found = await driver(cache, "mget", [key(2), key(0), key(1), key(2)])
        assert found == [two, None, one, two]
        assert {type(piece) for piece in found[0]} == {CachedPiece}

    async def test_nothing_to_do(self, driver, cache):
        await driver(cache, "mset", [])
        assert await driver(cache, "mget", []) == []
        assert await driver(cache, "mget", [key(1)]) == [None]
        assert await driver(cache, "purge") == 0

    async def test_nothing_aliases_what_is_kept(self, driver, cache):
        given = pieces("a")
        await driver(cache, "mset", [(key(1), given)])
        given.append(CachedPiece("later", "b"))
        first, second = await driver(cache, "mget", [key(1), key(1)])
        first.clear()
        assert second == pieces("a")
        assert await driver(cache, "mget", [key(1)]) == [pieces("a")]

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

    async def filled(self, driver, cache, clock):
        """Two answers of each of two transformers, a day between the first and the second."""
        for content in (1, 2):
            both = [key(content, name) for name in (SUMMARIES, QUESTIONS)]
            await driver(cache, "mset", [(one, pieces("text")) for one in both])
            clock[0] += timedelta(days=1).total_seconds()

    async def left(self, driver, cache):
        keys = [key(content, name) for name in (SUMMARIES, QUESTIONS) for content in (1, 2)]
        found = await driver(cache, "mget", keys)
        return [content for content, one in zip("sSqQ", found, strict=True) if one]

    async def test_purging(self, driver, make_cache, clock):
        for number, (conditions, left) in enumerate(PURGES):
            cache = make_cache(f"purge {number}")
            await self.filled(driver, cache, clock)
            assert await driver(cache, "purge", **conditions) == 4 - len(left), conditions
            assert await self.left(driver, cache) == list(left), conditions
            assert (await driver(cache, "stats")).entries == len(left)

    async def test_a_negative_age_is_a_mistake(self, driver, cache, clock):
        await self.filled(driver, cache, clock)
        with pytest.raises(ValueError, match="older_than is -1 day"):
            await driver(cache, "purge", older_than=timedelta(days=-1))
        assert await self.left(driver, cache) == list("sSqQ")

    async def test_statistics(self, driver, make_cache, clock):
        cache = make_cache()
        empty = await driver(cache, "stats")
        assert (empty.entries, empty.characters, empty.by_transformer) == (0, 0, {})
        assert (empty.oldest, empty.newest, empty.hits, empty.misses) == (None, None, 0, 0)
        assert str(empty) == "0 answers, 0 characters\n0 hits and 0 misses"
        first = datetime.fromtimestamp(clock[0], UTC)
        await driver(cache, "mset", [(key(0, "Größer"), pieces("ab", "ß"))])
        await self.filled(driver, cache, clock)
        await driver(cache, "mget", [key(1), key(1), key(3)])
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.characters) == (5, 4 * 4 + 3)
        assert stats.by_transformer == {SUMMARIES: 2, QUESTIONS: 2, "Größer": 1}
        assert (stats.oldest, stats.newest) == (first, first + timedelta(days=1))
        assert (stats.hits, stats.misses) == (2, 1)
        assert str(stats) == (
            "5 answers, 19 characters\n- GenerateQuestionsTransformer: 2\n- Größer: 1\n"
            "- SummarizeTransformer: 2\nwritten 2027-01-15 08:00 to 2027-01-16 08:00\n"
            "2 hits and 1 misses (67 % hits)"
        )
        # Hits and misses are the object's own, the rest is the store's.
        other = await driver(make_cache(), "stats")
        assert (other.hits, other.misses, other.entries) == (0, 0, 5)

    async def test_namespaces_share_nothing(self, driver, make_cache):
        names = ["", "one", "one/two", "Gauß: 'x'", "variations"]
        caches = [make_cache(name) for name in names]
        for name, cache in zip(names, caches, strict=True):
            await driver(cache, "mset", [(key(1), pieces(name))])
        for name, cache in zip(names, caches, strict=True):
            assert await driver(cache, "mget", [key(1)]) == [pieces(name)]
            assert (await driver(cache, "stats")).entries == 1
        assert await driver(caches[0], "purge", transformer=SUMMARIES) == 1
        assert await driver(caches[1], "purge") == 1
        found = [await driver(cache, "mget", [key(1)]) for cache in caches]
        assert found == [[None], [None], *([pieces(name)] for name in names[2:])]

    async def test_many_in_one_call(self, driver, cache):
        pairs = [(key(n), pieces(str(n))) for n in range(self.many)]
        await driver(cache, "mset", pairs)
        keys = [one for one, _ in reversed(pairs)]
        found = await driver(cache, "mget", [key("none"), *keys])
        assert found == [None, *(kept for _, kept in reversed(pairs))]
        assert (await driver(cache, "stats")).entries == self.many
        assert await driver(cache, "purge", transformer=SUMMARIES) == self.many

    # The clock stands, so that all values are as long: a store that writes in place, as
    # LocalFileStore does, would else now and then end with a mixture, which is a miss.
    async def test_many_write_and_read_one_key_at_a_time(self, driver, cache, clock):
        keys, start = [key(n) for n in range(3)], threading.Barrier(6)
        whole = [None, *(pieces(str(writer) * 500) for writer in range(6))]

        async def work(writer):
            for turn in range(5):
                order = keys if (writer + turn) % 2 else keys[::-1]  # in a ring, if it could
                await driver(cache, "mset", [(one, whole[writer + 1]) for one in order])
                for found in await driver(cache, "mget", keys):
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
        assert None not in await driver(cache, "mget", keys)
