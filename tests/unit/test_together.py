"""Flows side by side: as many calls at a time as allowed, and no more."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from langchain_rag._flow import (
    Flow,
    NotStartedError,
    call,
    call_as,
    gather,
)
from langchain_rag._flow.together import arun_together, failures, run_together, values_of
from langchain_rag.testing import Driver
from tests.unit.flows import Calls, drive


@pytest.mark.parametrize("limit", [1, 3, 16])
async def test_the_limit_is_reached_and_kept(driver: Driver, limit: int) -> None:
    calls = Calls(0.02)
    results = await drive(driver, gather([calls.flow(n) for n in range(40)]), limit)
    assert results == [n * 10 for n in range(40)]
    assert calls.most == limit


async def test_one_limit_for_all_that_is_nested(driver: Driver) -> None:
    calls = Calls(0.02)

    def member(number: int) -> Flow[list[Any]]:
        # A flow that waits for its children takes up none of the limit: with 2 and three
        # levels, everything would be blocked otherwise.
        inner = [gather([calls.flow(100 * number + n) for n in range(3)]) for _ in range(2)]
        return (yield from gather(inner))

    results = await drive(driver, gather([member(n) for n in range(4)]), 2)
    assert results == [[[1000 * n + 10 * m for m in range(3)]] * 2 for n in range(4)]
    assert calls.most == 2
    assert len(calls.made) == 24


async def test_nothing_and_nothing_to_wait_for(driver: Driver) -> None:
    def returns() -> Flow[str]:
        yield from ()
        return "at once"

    assert await drive(driver, gather([]), 4) == []
    assert await drive(driver, gather([returns(), returns()]), 4) == ["at once"] * 2
    assert await drive(driver, returns(), 4) == "at once"


async def test_a_failure_stops_what_has_not_begun(driver: Driver) -> None:
    calls = Calls(0.02)
    numbers = [1, -2, 3, *range(4, 40)]
    results = await drive(driver, gather([calls.flow(n) for n in numbers]), 3)
    assert results[0] == 10
    assert next(failures(results))[0] == 1
    assert results[2] == 30, "what was under way goes on to its end"
    assert len(calls.made) < 10
    assert sum(isinstance(result, NotStartedError) for result in results) > 30


async def test_a_failure_stops_what_is_beside_it_at_any_depth(driver: Driver) -> None:
    calls = Calls(0.02)

    def member(numbers: list[int]) -> Flow[list[Any]]:
        results = yield from gather([calls.flow(n) for n in numbers])
        for _, error in failures(results):
            raise error
        return results

    results = await drive(driver, gather([member([-1, 2]), member(list(range(3, 60)))]), 2)
    assert isinstance(results[0], ValueError)
    assert len(calls.made) < 12


async def test_what_is_not_there_is_not_passed_over(driver: Driver) -> None:
    calls = Calls(0.02)

    def member(numbers: list[int]) -> Flow[list[int]]:
        return values_of((yield from gather([calls.flow(n) for n in numbers])))

    both = gather([member([-1]), member(list(range(2, 40)))])
    results = await drive(driver, both, 1)
    assert isinstance(results[0], ValueError)
    assert isinstance(results[1], NotStartedError)
    with pytest.raises(ValueError, match="-1"):
        values_of(results)
    assert values_of([1, 2]) == [1, 2]


async def test_a_flow_that_has_begun_may_call_again_after_a_failure(driver: Driver) -> None:
    calls = Calls(0.02)

    def twice(number: int) -> Flow[list[int]]:
        first = yield from calls.flow(number)
        return [first, (yield from calls.flow(number))]

    results = await drive(driver, gather([twice(1), calls.flow(-2), twice(3)]), 3)
    assert results[0] == [10, 10]
    assert results[2] == [30, 30]


async def test_a_flow_may_handle_what_was_raised(driver: Driver) -> None:
    calls = Calls()

    def careful(number: int) -> Flow[int]:
        try:
            return (yield from calls.flow(-number))
        except ValueError:
            return (yield from calls.flow(number))

    results = await drive(driver, gather([careful(n) for n in (1, 2)]), 2)
    assert results == [10, 20]
    with pytest.raises(ValueError, match="-7"):
        await drive(driver, calls.flow(-7), 2)


async def test_other_operations_run_in_the_callers_thread(driver: Driver) -> None:
    calls = Calls()
    seen: list[int] = []

    async def anote() -> None:
        seen.append(threading.get_ident())

    def flow(number: int) -> Flow[int]:
        yield from call(lambda: seen.append(threading.get_ident()), anote)
        value = yield from calls.flow(number)
        yield from call(lambda: seen.append(threading.get_ident()), anote)
        return value

    assert await drive(driver, gather([flow(n) for n in range(5)]), 4) == [0, 10, 20, 30, 40]
    assert set(seen) == {threading.get_ident()}
    if driver.name == "sync":
        assert threading.get_ident() not in calls.threads


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="none")


async def test_context_variables_reach_the_calls(driver: Driver) -> None:
    async def aget() -> str:
        return VARIABLE.get()

    token = VARIABLE.set("ours")
    flows = [call_as("counted", VARIABLE.get, aget) for _ in range(3)]
    assert await drive(driver, gather(flows), 2) == ["ours"] * 3
    VARIABLE.reset(token)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interruption_ends_all_and_lets_flows_clean_up(error: type[BaseException]) -> None:
    calls = Calls(0.02)
    cleaned: list[int] = []

    def interrupted() -> Any:
        raise error

    async def unused() -> None: ...

    def flow(number: int) -> Flow[Any]:
        try:
            if number == 2:
                return (yield from call(interrupted, unused))
            return (yield from calls.flow(number))
        finally:
            cleaned.append(number)

    def outer() -> Flow[Any]:
        try:
            return (yield from gather([flow(n) for n in range(30)]))
        finally:
            cleaned.append(-1)

    before = threading.active_count()
    with pytest.raises(error):
        run_together(outer(), 2)
    assert -1 in cleaned
    assert len(calls.made) <= 2
    assert threading.active_count() == before


async def test_cancellation_ends_all_and_lets_flows_clean_up() -> None:
    calls = Calls(10)
    cleaned: list[int] = []

    def flow(number: int) -> Flow[Any]:
        try:
            return (yield from calls.flow(number))
        finally:
            cleaned.append(number)

    nested = gather([gather([flow(n) for n in range(3)]), flow(3)])
    task = asyncio.create_task(arun_together(nested, 2))
    await asyncio.sleep(0.05)
    assert calls.now == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls.now == 0
    assert sorted(cleaned) == [0, 1, 2, 3]
    assert len(asyncio.all_tasks()) == 1
