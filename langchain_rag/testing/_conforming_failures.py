"""The part of the conformance suite that breaks off in the middle."""

# ruff: noqa: S101 - these are tests

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langchain_core.documents import Document

from langchain_rag.testing._over_store import OverStore, over_store
from langchain_rag.testing.faults import MOMENTS, InjectedCrash, InjectedFault, Moment

if TYPE_CHECKING:
    from langchain_rag.testing.bench import Bench

__all__ = ["ConformingFailures"]

_OLD = {"cats purr", "cats sleep"}
_NEW = {"cats purr", "cats climb"}


def _page(texts: set[str], by: str) -> Document:
    return Document("\n".join(sorted(texts)), metadata={"by": by})


class ConformingFailures(OverStore):
    """Fails at every write, before, in the middle of it and after.

    The chunk that stays is rewritten in place, since its metadata changes. A store that has
    to delete a row before it adds it again is for that moment without it; everything else is
    found at every moment, and the next call that goes well mends the rest.
    """

    @over_store
    async def test_a_crash_at_every_write_of_a_change(self, bench: Bench) -> None:
        """The old version or the new one is found whole, and the same call again mends all."""
        writes = 0
        while any([await self._crash(bench, writes + 1, moment) for moment in MOMENTS]):
            writes += 1
        assert writes >= 6  # intents, chunks, rows, manifests, rows, chunks

    @over_store
    async def test_a_failed_write_is_taken_back(self, bench: Bench) -> None:
        """The next call needs no help from a process that starts anew."""
        bench.rag = bench.start(faulty=True)
        await bench.do("add_documents", [_page(_OLD, "Ada")], ids=["c"])
        writes = bench.plan.names()
        first = writes.index("add_documents") + 1
        for moment in MOMENTS:
            bench.plan.forget()
            bench.plan.arm(first, moment, InjectedFault)
            with pytest.raises(InjectedFault):
                await bench.do("add_documents", [_page(_NEW, "Bob")], ids=["c"])
            found = set(await bench.found("cats", k=9))
            assert self._whole(found, _OLD), (moment, found)
            if "replaces" not in self.lacks:
                assert await bench.problems() == [], moment
            await bench.do("add_documents", [_page(_OLD, "Ada")], ids=["c"])
            assert await bench.problems() == [], moment
            assert set(await bench.found("cats", k=9)) == _OLD, moment

    def _whole(self, found: set[str], version: set[str]) -> bool:
        in_place = _OLD & _NEW if "replaces" in self.lacks else set[str]()
        return found >= version - in_place

    async def _crash(self, bench: Bench, number: int, moment: Moment) -> bool:
        """Crash at one write of a change, look, and make the call again."""
        bench.rag = bench.start(faulty=True)
        await bench.do("add_documents", [_page(_OLD, "Ada")], ids=["c"])
        bench.plan.arm(number, moment, InjectedCrash)
        struck = False
        try:
            await bench.do("add_documents", [_page(_NEW, "Bob")], ids=["c"])
        except InjectedCrash:
            struck = True
        bench.rag = bench.start(faulty=True)
        where = (number, moment)
        found = set(await bench.found("cats", k=9))
        assert self._whole(found, _OLD) or self._whole(found, _NEW), (where, found)
        await bench.do("add_documents", [_page(_NEW, "Bob")], ids=["c"])
        assert await bench.problems() == [], where
        assert set(await bench.found("cats", k=9)) == _NEW, where
        await bench.do("delete", ["c"])
        assert await bench.problems() == [], where
        return struck
