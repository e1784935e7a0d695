"""A fault at every write of `rag.index()`: of the stores, the record manager and both caches.

Batches are of one document, so that three of them are always under way: one is written while
the model is asked about the next ones. Which write of which batch a number is, changes from
run to run; what must hold afterwards does not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from langchain_rag.testing import MOMENTS, InjectedCrash, InjectedFault, audit
from tests.crash.works import IN_FLIGHT, Works, page
from tests.tiers import everyday

if TYPE_CHECKING:
    from collections import Counter

    from langchain_core.documents import Document

    from langchain_rag.testing import Driver, Moment

FLAVOURS = ["fault", "crash", "interrupt"]
CLEANUPS = ["scoped_full", "full", None]

OLD = [
    page("a1", "alpha", "beta"),
    page("a2", "gamma"),
    page("a3", "delta", "delta"),
    page("b1", "alpha"),
    page("b2", "omega"),
    page("c1", "omega"),
]
NEW = [
    page("a1", "alpha", "theta"),  # changed in part
    page("a2", "gamma", rev=2),  # other metadata
    page("b1", "kappa"),  # changed in whole; a3 and b2 are gone, and so is c
    page("d1", "alpha"),  # new
    page("d2", "gamma"),
    page("d3", "delta", "iota"),
]


def flavour_of(name: str, driver: Driver) -> type[BaseException]:
    if name == "interrupt":
        return KeyboardInterrupt if driver.name == "sync" else asyncio.CancelledError
    return {"fault": InjectedFault, "crash": InjectedCrash}[name]


@dataclass
class Rehearsal:
    """What a run does when nothing fails."""

    works: Works
    options: dict[str, Any]
    documents: list[Document]
    saved: Any
    old: dict[str, Any]
    new: dict[str, Any]
    wanted: Any
    asked: Counter[str]
    embedded: Counter[str]
    writes: int

    async def run(self) -> Any:
        return await self.works.index(self.documents, **self.options)

    async def struck(self, flavour: type[BaseException]) -> bool:
        """Run, and say whether a fault struck; only one of a cache may be passed over."""
        plan = self.works.plan
        plan.begin_anew()
        try:
            await self.run()
        except flavour:
            return True
        if plan.struck is None:
            assert plan.armed
            return False
        assert plan.struck.startswith("cache of"), f"{plan.struck} failed, and was not said"
        assert flavour is InjectedFault
        return True

    def check_at_once(self) -> None:
        """I1 to I3, and of each document its whole old or its whole new version."""
        works = self.works
        assert audit(works.rag, settled=False) == []
        found = works.whole()
        for id_ in self.old.keys() | self.new.keys():
            old, new = self.old.get(id_, set()), self.new.get(id_, set())
            now = found.get(id_, set())
            assert old <= now or new <= now, f"document {id_} is not whole"

    def check_paid(self, faults: int, *, gentle: bool) -> None:
        """Nothing is paid twice but what was in flight when a fault struck.

        Args:
            faults: How many struck.
            gentle: Whether what was in flight could go on to its end, so that at most the one
                answer was lost whose keeping failed.
        """
        asked, embedded = self.works.paid()
        assert asked >= self.asked, "something was never asked"
        twice = asked - self.asked
        lost = 1 if gentle else IN_FLIGHT
        assert twice.total() <= lost * faults, f"asked again: {twice}"
        assert all(twice[line] <= faults for line in twice)
        twice = embedded - self.embedded
        # Rows are written one document after the other, three rows of two chunks at most.
        assert twice.total() <= 6 * faults, f"embedded again: {twice}"
        assert all(twice[line] <= faults for line in twice)


async def rehearse(driver: Driver, cleanup: str | None) -> Rehearsal:
    works = Works(driver)
    works.begin()
    await works.index(OLD, cleanup=cleanup)
    saved, old = works.save(), works.whole()
    works.load(saved)
    works.begin()
    report = await works.index(NEW, cleanup=cleanup)
    writes = len(works.plan.calls)
    assert len(report.deleted) == {"scoped_full": 2, "full": 3, None: 0}[cleanup]
    wanted = works.state()
    await works.check_settled(wanted)
    asked, embedded = works.paid()
    assert asked.total() == 6  # each line of a kind of its own once; the rest was known
    options = {"cleanup": cleanup}
    return Rehearsal(
        works, options, NEW, saved, old, works.whole(), wanted, asked, embedded, writes
    )


@pytest.mark.parametrize("cleanup", everyday(["full"], of=CLEANUPS))
@pytest.mark.parametrize("name", everyday(["crash"], of=FLAVOURS))
async def test_the_same_run_again_leaves_no_trace(
    driver: Driver, name: str, cleanup: str | None
) -> None:
    play = await rehearse(driver, cleanup)
    works, flavour = play.works, flavour_of(name, driver)
    seen: set[str] = set()
    # What comes before the clean-up is the same in all.
    last = range(play.writes - 9, play.writes + 1)
    step = 1 if cleanup == "scoped_full" else 4
    for call in sorted({*range(1 + FLAVOURS.index(name), play.writes + 1, step), *last}):
        # Each flavour has another moment of a call, and each clean-up of a flavour too.
        moment = MOMENTS[(call + FLAVOURS.index(name) + CLEANUPS.index(cleanup)) % 3]
        works.load(play.saved)
        works.begin()
        works.plan.arm(call, moment, flavour)
        assert await play.struck(flavour)
        seen.add(works.plan.struck or "")
        with note(works, f"{moment} call {call}"):
            if flavour is InjectedCrash:
                works.begin()
            play.check_at_once()
            await play.run()
            await works.check_settled(play.wanted)
            play.check_paid(1, gentle=flavour is InjectedFault)
    stores = {"mset", "add_documents", "delete", "mdelete", "records update"}
    if cleanup == "scoped_full":
        assert seen >= {*stores, "cache of answers", "cache of vectors"}
    assert ("records delete" in seen) == (cleanup is not None)


@pytest.mark.full
@pytest.mark.parametrize("second", ["fault", "crash"])
async def test_two_deep(driver: Driver, second: str) -> None:
    """The second one strikes the run that finds what a crash left."""
    play = await rehearse(driver, "scoped_full")
    works, two = play.works, flavour_of(second, driver)
    for first in count(1, 5):
        for call in count(1 + first % 7, 7):
            moments: list[Moment] = [MOMENTS[first % 3], MOMENTS[(first + call) % 3]]
            works.load(play.saved)
            works.begin()
            works.plan.arm(first, moments[0], InjectedCrash)
            if not await play.struck(InjectedCrash):
                return
            works.begin()
            works.plan.arm(call, moments[1], two)
            if not await play.struck(two):
                break
            with note(works, f"{moments[0]} call {first}, then {moments[1]} call {call}"):
                if two is InjectedCrash:
                    works.begin()
                play.check_at_once()
                await play.run()
                await works.check_settled(play.wanted)
                play.check_paid(2, gentle=False)


@pytest.mark.parametrize("name", everyday(["crash"], of=FLAVOURS))
async def test_the_next_run_is_about_something_else(driver: Driver, name: str) -> None:
    """A document of an interrupted run that the next one does not return is cleaned up."""
    play = await rehearse(driver, "full")
    works, flavour = play.works, flavour_of(name, driver)
    other = [page("a1", "alpha", "beta", "zeta"), page("e1", "alpha")]
    works.load(play.saved)
    works.begin()
    await works.index(other, cleanup="full")
    wanted = works.state()
    for call in count(1, 3):
        moment = MOMENTS[(call // 3) % 3]
        works.load(play.saved)
        works.begin()
        works.plan.arm(call, moment, flavour)
        if not await play.struck(flavour):
            break
        with note(works, f"{moment} call {call}"):
            if flavour is InjectedCrash:
                works.begin()
            await works.index(other, cleanup="full")
            await works.check_settled(wanted)


@pytest.mark.parametrize("cleanup", everyday(["full"], of=CLEANUPS))
async def test_what_fails_is_skipped_and_nothing_else(
    driver: Driver, cleanup: str | None
) -> None:
    """A store that fails once costs at most the document that it fails for."""
    play = await rehearse(driver, cleanup)
    works = play.works
    for call in count(1, 3):
        works.load(play.saved)
        works.begin()
        works.plan.arm(call, MOMENTS[(call // 3) % 3])
        try:
            report = await works.index(NEW, cleanup=cleanup, on_error="skip")
        except InjectedFault:
            # What no document is to blame for: the record manager, and the clean-up.
            struck = works.plan.struck or ""
            assert struck.startswith("records") or struck in {"mset", "delete", "mdelete"}
        else:
            if works.plan.struck is None:
                break
            with note(works, f"call {call}"):
                assert len(report.failed) <= 1
                assert audit(works.rag) == []
        with note(works, f"call {call}, again"):
            play.check_at_once()
            await play.run()
            await works.check_settled(play.wanted)
            play.check_paid(1, gentle=True)


class note:  # noqa: N801 - reads like pytest's own context managers
    """Say at which point an assertion failed."""

    def __init__(self, works: Works, where: str) -> None:
        self.where = f"{where} ({works.plan.struck}): {works.plan.names()}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            error.add_note(f"after a fault {self.where}")
