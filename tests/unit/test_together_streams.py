"""Flows that are made one after the other, while those before them run."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from langchain_rag._flow import Flow, NotStartedError, gather, stream
from langchain_rag._flow.together import values_of
from langchain_rag.testing import Driver, InjectedCrash
from tests.unit.flows import Calls, Gate, counted, drive, here, plain, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    Produce = Callable[[], Flow[Any]]


class Line:
    """Makes flows, and counts how many of them are under way."""

    def __init__(self, make: Callable[[int], Flow[Any]], number: int) -> None:
        self.now = 0
        self.most = 0
        self.asked = 0
        self.fails_at: int | None = None
        self._make = make
        self._number = number

    def produce(self) -> Flow[Flow[Any] | None]:
        position, self.asked = self.asked, self.asked + 1
        yield from here(lambda: None)
        if position == self.fails_at:
            raise ValueError(position)
        return self._around(self._make(position)) if position < self._number else None

    def _around(self, flow: Flow[Any]) -> Flow[Any]:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return (yield from flow)
        finally:
            self.now -= 1


@pytest.mark.parametrize("ahead", [1, 3])
async def test_results_are_in_order_and_no_more_are_under_way(
    driver: Driver, ahead: int
) -> None:
    calls = [Calls(0.001 * (7 * n % 5)) for n in range(12)]
    line = Line(lambda n: calls[n].flow(n), 12)
    assert await drive(driver, stream(line.produce, ahead), 16) == [10 * n for n in range(12)]
    assert line.most == ahead
    assert line.now == 0
    assert line.asked == 13


async def test_each_is_made_when_there_is_room_for_it(driver: Driver) -> None:
    gates = [Gate() for _ in range(4)]
    begun = [Gate() for _ in range(4)]
    seen: list[int] = []

    def one(number: int) -> Flow[int]:
        yield from waiting(begun[number], gates[number])
        return number

    def opener() -> Flow[None]:
        # The first two are under way, and nobody has asked for a third.
        yield from waiting(Gate(), begun[1])
        seen.append(line.asked)
        gates[1].open()
        yield from waiting(Gate(), begun[2])
        seen.append(line.asked)
        for gate in gates:
            gate.open()

    line = Line(one, 4)
    both: list[Flow[Any]] = [stream(line.produce, 2), opener()]
    results, _ = await drive(driver, gather(both), 16)
    assert results == [0, 1, 2, 3]
    assert seen == [2, 3]


async def test_nothing_to_stream(driver: Driver) -> None:
    assert await drive(driver, stream(Line(Calls().flow, 0).produce, 3), 4) == []


@pytest.mark.parametrize("at", [0, 2, 5])
async def test_a_producer_that_raises(driver: Driver, at: int) -> None:
    calls = Calls(0.02)
    line = Line(calls.flow, 9)
    line.fails_at = at
    results = await drive(driver, stream(line.produce, 3), 4)
    assert results[:-1] == [10 * n for n in range(at)], "those before it go on to their end"
    assert isinstance(results[-1], ValueError)
    assert results[-1].args == (at,)
    assert line.asked == at + 1, "and it is not asked again"


@pytest.mark.parametrize("at", [0, 3])
async def test_a_failure_gives_up_later_ones_only(driver: Driver, at: int) -> None:
    failed, slow = Gate(), Gate()

    def one(number: int) -> Flow[int]:
        if number == at:
            yield from waiting(Gate(), slow)
            failed.open()
            raise ValueError(number)
        if number == at + 1:  # begins before the failure, and ends after it
            slow.open()
            yield from waiting(Gate(), failed)
            return number
        return (yield from counted(lambda: number))

    line = Line(one, 50)
    results = await drive(driver, stream(line.produce, 3), 2)
    assert results[:at] == list(range(at))
    assert isinstance(results[at], ValueError)
    assert results[at + 1] == at + 1
    for late in results[at + 2 :]:
        assert isinstance(late, NotStartedError)
    assert len(results) <= at + 3, "no more are made"
    assert line.now == 0
    with pytest.raises(ValueError, match=str(at)):
        values_of(results)


async def test_a_failure_stops_the_producer(driver: Driver) -> None:
    calls = Calls(0.01)
    line = Line(lambda n: calls.flow(-1 if n == 2 else n), 100)
    results = await drive(driver, stream(line.produce, 3), 2)
    assert results[:2] == [0, 10]
    assert isinstance(results[2], ValueError)
    assert len(results) < 8
    assert line.asked == len(results)


async def test_streams_in_streams(driver: Driver) -> None:
    calls = Calls(0.003)

    def inner(number: int) -> Flow[list[Any]]:
        return stream(Line(lambda n: calls.flow(10 * number + n), 3).produce, 2)

    results = await drive(driver, stream(Line(inner, 4).produce, 3), 3)
    assert results == [[100 * n + 10 * m for m in range(3)] for n in range(4)]
    assert calls.most == 3


async def test_the_producer_works_in_the_callers_thread(driver: Driver) -> None:
    threads: list[int] = []

    def produce() -> Flow[Flow[Any] | None]:
        yield from here(lambda: threads.append(threading.get_ident()))
        return Calls().flow(1) if len(threads) < 8 else None

    assert await drive(driver, stream(produce, 3), 4) == [10] * 7
    assert set(threads) == {threading.get_ident()}


@pytest.mark.parametrize("number", [0, 1, 5, 8])
@pytest.mark.parametrize("error", [InjectedCrash, asyncio.CancelledError])
async def test_what_is_no_exception_ends_all(
    driver: Driver, error: type[BaseException], number: int
) -> None:
    """Also where more flows are made after the one that it struck."""
    cleaned: list[int] = []

    def strike() -> None:
        raise error

    def one(position: int) -> Flow[int]:
        try:
            if position == number:
                yield from plain(strike)
            return (yield from counted(lambda: position))
        finally:
            yield from plain(cleaned.append, position)

    line = Line(one, 9)
    with pytest.raises(error):
        await drive(driver, stream(line.produce, 3), 4)
    assert sorted(cleaned) == list(range(len(cleaned)))
    assert number in cleaned
    assert line.now == 0
