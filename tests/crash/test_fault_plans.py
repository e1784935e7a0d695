"""A fault before, inside and after every mutating call, one and two deep.

Each test walks through all points by itself: a change makes about a dozen calls, and what it
makes depends on what is tested here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from langchain_rag.retrievers.auto_merging import AutoMergingRetriever
from langchain_rag.retrievers.hierarchical import HierarchicalRetriever
from langchain_rag.retrievers.sentence_window import SentenceWindowRetriever
from langchain_rag.testing import MOMENTS, InjectedCrash, InjectedFault, Moment, audit
from tests.crash.conftest import SCENARIOS, Lab
from tests.crash.works import IN_FLIGHT, SummaryWorks, page, patterns
from tests.tiers import everyday

if TYPE_CHECKING:
    from langchain_rag.retrievers._base import RAGRetriever
    from langchain_rag.testing import Driver

    Scenario = Any

FLAVOURS = ["fault", "crash", "interrupt"]
a_crash_every_day = pytest.mark.parametrize("name", everyday(["crash"], of=FLAVOURS))


def flavour_of(name: str, driver: Driver) -> type[BaseException]:
    if name == "interrupt":
        # Ctrl-C, and what it becomes in a task; the process may go on after either.
        return KeyboardInterrupt if driver.name == "sync" else asyncio.CancelledError
    return {"fault": InjectedFault, "crash": InjectedCrash}[name]


async def points(
    lab: Lab, step: Any, flavour: type[BaseException], moments: tuple[Moment, ...] = MOMENTS
) -> AsyncIterator[str]:
    """Interrupt a step at every point; yields where, with the lab as that left it."""
    for call in count(1):
        for moment in moments:
            lab.back()
            await lab.start()
            await lab.warm_up()
            lab.plan.arm(call, moment, flavour)
            if not await lab.interrupted(step, flavour):
                assert call > 4, "too few calls for a change"
                return
            if flavour is InjectedCrash:
                await lab.start()
            yield f"{moment} call {call}: {lab.plan.names()}"


@pytest.mark.parametrize(
    "shape", everyday(["splitters"], of=["plain", "splitters", "nameless"])
)
@pytest.mark.parametrize("name", everyday(["fault", "crash"], of=FLAVOURS))
async def test_one_deep(lab: Lab, scenario: Scenario, driver: Driver, name: str) -> None:
    async for where in points(lab, scenario.change, flavour_of(name, driver)):
        with note(where):
            lab.check_at_once()
            await lab.check_search()
            await scenario.change(lab)
            lab.check_settled()


@pytest.mark.parametrize(
    "scenario",
    everyday(["delete"], of=["update", "change metadata", "delete", "index scoped_full"]),
    indirect=True,
)
@pytest.mark.parametrize("second", ["fault", "crash"])
async def test_two_deep(lab: Lab, scenario: Scenario, driver: Driver, second: str) -> None:
    """The second one strikes the sweep after a crash, or the repetition."""
    two = flavour_of(second, driver)
    start = lab.saved
    first = 0
    async for where in points(lab, scenario.change, InjectedCrash):
        lab.saved = lab.world.save()
        first += 1
        for call in count(1):
            # One moment of each call; after the next first one it is another.
            moment = MOMENTS[(call + first) % len(MOMENTS)]
            lab.back()
            await lab.start()
            lab.plan.arm(call, moment, two)
            if not await lab.interrupted(scenario.change, two):
                break
            with note(f"{where}, then {moment} call {call}: {lab.plan.names()}"):
                lab.check_at_once()
                if two is InjectedCrash:
                    await lab.start()
                await scenario.change(lab)
                lab.check_settled()
        lab.saved = start


@pytest.mark.parametrize("scenario", everyday(["update"], of=SCENARIOS), indirect=True)
@pytest.mark.parametrize("name", ["fault", "crash"])
async def test_the_clean_up_after_a_fault_fails_too(
    lab: Lab, scenario: Scenario, driver: Driver, name: str
) -> None:
    """An ordinary failure is taken back at once; that may fail, and the first one counts."""
    flavour = flavour_of(name, driver)
    for first in count(1):
        for second in (1, 2, 3):
            for moment in MOMENTS[1:]:
                lab.back()
                await lab.start()
                await lab.warm_up()
                lab.plan.arm(first, "inside", InjectedFault)
                lab.plan.arm(second, moment, flavour)
                reported = None
                try:
                    await scenario.change(lab)
                except InjectedFault as error:
                    reported = str(error)
                except flavour:
                    assert not lab.plan.armed
                else:
                    assert lab.plan.armed
                    assert first > 4
                    return
                with note(f"call {first}, then {moment} call {second}: {lab.plan.names()}"):
                    assert reported is None or f"inside call {first}:" in reported
                    lab.plan.restart()
                    lab.check_at_once()
                    await lab.check_search()
                    if flavour is InjectedCrash:
                        await lab.start()
                    await scenario.change(lab)
                    lab.check_settled()


@pytest.mark.parametrize("shape", everyday(["nameless"], of=["splitters", "nameless"]))
@a_crash_every_day
async def test_the_user_imports_another_version_instead(
    lab: Lab, scenario: Scenario, driver: Driver, name: str
) -> None:
    wanted = lab.saved
    await lab.start()
    await scenario.other(lab)
    after, keys = lab.state()
    unwanted = {row for rows in lab.new.values() for row in rows}
    desired = {row for rows in lab.found().values() for row in rows}
    lab.saved = wanted
    async for where in points(lab, scenario.change, flavour_of(name, driver)):
        with note(where):
            await scenario.other(lab)
            assert audit(lab.rag) == []
            found = {row for rows in lab.found().values() for row in rows}
            if not keys:  # ids of the user's own: the later version takes the place
                assert lab.state(copy=False) == (after, keys)
                continue
            assert desired <= found
            # A document that was stored whole before index() could note that it was: its
            # record manager does not know of it, and nothing of it is an orphan.
            left = {row[0] for row in found - desired}
            assert found - desired == {row for row in unwanted if row[0] in left}


@pytest.mark.parametrize(
    "scenario", ["index scoped_full", "index incremental", "index full"], indirect=True
)
@a_crash_every_day
async def test_the_user_goes_back_to_the_version_before(
    lab: Lab, scenario: Scenario, driver: Driver, name: str
) -> None:
    """What `index()` was deleting when it was interrupted is wanted again, and comes back."""
    async for where in points(lab, scenario.change, flavour_of(name, driver)):
        with note(where):
            await scenario.before(lab)
            found = lab.found()
            for letter, rows in lab.old.items():
                assert rows <= found[letter], f"page {letter} is lost"


@a_crash_every_day
async def test_the_next_call_is_about_something_else(
    lab: Lab, scenario: Scenario, driver: Driver, name: str
) -> None:
    """A new process sweeps what the crashed one left, whatever it is asked to do."""
    async for where in points(lab, scenario.change, flavour_of(name, driver)):
        with note(where):
            await lab.start()
            await lab.driver(lab.rag, "delete", ["unknown"])
            assert audit(lab.rag) == []
            found = lab.found()
            whole = {row[0]: set[Any]() for row in reachable_rows(found)}
            for row in reachable_rows(found):
                whole[row[0]].add(row)
            for document_id, rows in whole.items():
                old = {r for r in reachable_rows(lab.old) if r[0] == document_id}
                new = {r for r in reachable_rows(lab.new) if r[0] == document_id}
                assert rows in (old, new)
            lab.check_at_once()


def reachable_rows(by_letter: dict[str, set[Any]]) -> set[Any]:
    return {row for rows in by_letter.values() for row in rows}


PATTERNS = patterns()


def finder(name: str, lab: Lab) -> RAGRetriever | None:
    """What is made for a pattern, told to return as much as it can."""
    options: dict[str, Any] = {"vectorstore": lab.rag, "k": 100, "fallback": False}
    if "levels" in name:
        return AutoMergingRetriever(threshold=0.01, **options)
    if name == "sentences":
        return SentenceWindowRetriever(window=9, within="document", **options)
    if name == "document summaries":
        return HierarchicalRetriever(documents=100, **options)
    return None


async def found_by(name: str, lab: Lab) -> dict[str, set[str]]:
    """What the retriever of a pattern finds, by the letter of its page."""
    retriever = finder(name, lab)
    found: dict[str, set[str]] = {}
    for one in [] if retriever is None else await lab.driver(retriever, "invoke", "alpha"):
        found.setdefault(one.page_content[0], set()).add(one.page_content)
    return found


SOME = ["update", "change metadata", "delete", "index scoped_full"]


@pytest.mark.parametrize("what", everyday(["update"], of=SOME))
@pytest.mark.parametrize("name", list(PATTERNS))
async def test_one_deep_over_a_pattern(driver: Driver, what: str, name: str) -> None:
    """Also what stands above the chunks that are found is there, old or new, all the time."""
    scenario: Scenario = SCENARIOS[what]
    lab = Lab(driver, "plain")
    lab.options = PATTERNS[name]
    await lab.prepare(scenario.before, scenario.change)
    await lab.start()
    old = await found_by(name, lab)
    await scenario.change(lab)
    new = await found_by(name, lab)
    assert (old == new) == (name == "clusters" or what == "change metadata")
    turn = list(PATTERNS).index(name) + SOME.index(what) + (driver.name == "sync")
    flavour = flavour_of(FLAVOURS[turn % 3], driver)
    # index() makes many calls: of each one moment, which is another for the next pattern.
    moments = (MOMENTS[turn // 2 % 3],) if what.startswith("index") else MOMENTS
    async for where in points(lab, scenario.change, flavour, moments):
        with note(where):
            lab.check_at_once()
            await lab.check_search()
            now = await found_by(name, lab)
            for letter in old.keys() | new.keys():
                before, after = old.get(letter, set()), new.get(letter, set())
                texts = now.get(letter, set())
                assert before <= texts or after <= texts, f"of page {letter} not all is found"
            await scenario.change(lab)
            lab.check_settled()


OLD = [page("a1", "alpha", "beta"), page("a2", "gamma", "delta"), page("b1", "alpha")]
NEW = [page("a1", "alpha", "theta"), page("a2", "gamma", "delta", rev=2), page("c1", "kappa")]


@a_crash_every_day
async def test_an_index_over_summaries_of_documents(driver: Driver, name: str) -> None:
    """A fault at every third write: nothing is asked again but what was in flight."""
    flavour = flavour_of(name, driver)
    works = SummaryWorks(driver)
    works.begin()
    await works.index(OLD, cleanup="full")
    saved = works.save()
    works.load(saved)
    works.begin()
    await works.index(NEW, cleanup="full")
    wanted, writes = works.state(), len(works.plan.calls)
    await works.check_settled(wanted)
    asked = works.model.calls
    assert asked == 2  # for a1 and c1; of a2 the text is as it was
    for call in range(1 + FLAVOURS.index(name), writes + 1, 3):
        works.load(saved)
        works.begin()
        works.plan.arm(call, MOMENTS[call // 3 % 3], flavour)
        with note(f"call {call}"):
            try:
                await works.index(NEW, cleanup="full")
            except flavour:
                pass
            else:
                assert (works.plan.struck or "").startswith("cache of")
            if flavour is InjectedCrash:
                works.begin()
            assert audit(works.rag, settled=False) == []
            await works.index(NEW, cleanup="full")
            await works.check_settled(wanted)
            assert asked <= works.model.calls <= asked + IN_FLIGHT


class note:  # noqa: N801 - reads like pytest's own context managers
    """Say at which point an assertion failed."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            error.add_note(f"after a fault {self.where}")
