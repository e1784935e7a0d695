"""Ctrl-C, cancellation and the like: every flow cleans up, and nothing is overtaken."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from langchain_rag._flow import Flow, call_as, gather, pause, stream, take_turn, threads
from langchain_rag._flow.together import arun_together, run_together
from langchain_rag.testing import InjectedCrash
from tests.unit.flows import Gate, alarm, counted, drive, here, no_deadlock, plain, waiting

if TYPE_CHECKING:
    from types import FrameType

    from langchain_rag.testing import Driver


class Scene:
    """One flow in each of the states that a flow can be in, and what they did.

    Args:
        reached: Is opened when all are in their states.
        strike: What strikes then, in a flow beside them; None for nothing.
    """

    def __init__(self, strike: Any = None) -> None:
        self.log: list[str] = []
        self.begun: set[str] = set()
        self.cleaned: list[str] = []
        self.written = Gate()
        self.is_writing = Gate()
        self.is_there = Gate()
        self.end = Gate()
        self._strike = strike

    def flow(self) -> Flow[Any]:
        """Three levels: an import, its batches, and the calls of one of them."""
        return self._careful("outer", stream(iter_flows(self._batches()), 9))

    def _batches(self) -> list[Flow[Any]]:
        asks = [self._careful(f"asks {n}", waiting(Gate(), self.end)) for n in range(4)]
        return [
            self._careful("batch", gather(asks)),
            self._careful("writes", self._writes()),
            self._careful("waits", self._waits()),
            self._careful("pauses", pause(60)),
            self._careful("strikes", self._strikes()),
        ]

    def _careful(self, name: str, flow: Flow[Any]) -> Flow[Any]:
        self.begun.add(name)
        return (yield from cleaning_up(flow, name, self.cleaned))

    def _writes(self) -> Flow[None]:
        yield from take_turn()
        yield from call_as("to_its_end", self._write, self._awrite)

    def _write(self) -> None:
        self.is_writing.open()
        time.sleep(0.2)
        self.log.append(f"written before {len(self.cleaned)} cleaned up")

    async def _awrite(self) -> None:
        self.is_writing.open()
        await asyncio.sleep(0.2)
        self.log.append(f"written before {len(self.cleaned)} cleaned up")

    def _waits(self) -> Flow[None]:
        yield from take_turn()
        self.log.append("had the turn")

    def _strikes(self) -> Flow[None]:
        self.is_there.open()
        while not self.is_writing.is_open:
            yield from pause(0.005)
        if self._strike is None:
            yield from pause(60)
        else:
            yield from plain(self._strike)

    def check(self, driver: str) -> None:
        names = {"outer", "batch", "writes", "waits", "pauses", "strikes"}
        asked = {name for name in self.begun if name.startswith("asks")}
        missing = (names | asked).difference(self.cleaned)
        assert not missing, f"{missing} did not clean up"
        assert len(self.cleaned) == len(set(self.cleaned))
        assert self.cleaned[-1] == "outer"
        batch = self.cleaned.index("batch")
        assert all(self.cleaned.index(name) < batch for name in asked)
        assert "had the turn" not in self.log
        assert len(self.log) == 1, "a write was given up half-way"
        if driver == "sync":
            # The flow that was struck is the first to clean up, and the only one.
            number = 0 if self._strike is None else 1
            assert self.log == [f"written before {number} cleaned up"]


def cleaning_up(flow: Flow[Any], name: str, cleaned: list[str]) -> Flow[Any]:
    """Run a flow, and clean up by an operation, also where that is interrupted itself."""
    try:
        result = yield from flow
        yield from plain(cleaned.append, name)
    except GeneratorExit:  # nobody drives it any more, and it may ask for nothing
        raise
    except BaseException:
        if name not in cleaned:
            yield from plain(cleaned.append, name)
        raise
    return result


def iter_flows(flows: list[Flow[Any]]) -> Any:
    left = iter(flows)

    def produce() -> Flow[Flow[Any] | None]:
        yield from here(lambda: None)
        return next(left, None)

    return produce


def raising(error: type[BaseException]) -> Any:
    def strike() -> None:
        raise error

    return strike


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, InjectedCrash])
def test_struck_in_an_operation(error: type[BaseException]) -> None:
    scene = Scene(raising(error))
    # What is in a thread cannot be ended: it is waited for.
    threading.Timer(0.4, scene.end.open).start()
    threads = threading.active_count()
    with no_deadlock(), pytest.raises(error):
        run_together(scene.flow(), 2)
    scene.check("sync")
    assert threading.active_count() <= threads


@pytest.mark.parametrize("writes", [True, False])
def test_struck_while_the_main_thread_waits(*, writes: bool) -> None:
    scene = Scene()
    if not writes:
        scene._writes = lambda: pause(60)  # type: ignore[method-assign]
        scene.log.append("written before 0 cleaned up")
        scene._waits = scene._writes  # type: ignore[method-assign]
    threading.Timer(0.4, scene.end.open).start()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with alarm(0.1, interrupt), pytest.raises(KeyboardInterrupt):
        run_together(scene.flow(), 2)
    assert time.monotonic() - start < 5
    scene.check("sync")


def test_a_pause_alone_is_interrupted_at_once() -> None:
    cleaned: list[int] = []

    def one(number: int) -> Flow[None]:
        try:
            yield from pause(60)
        finally:
            yield from plain(cleaned.append, number)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with alarm(0.05, interrupt), pytest.raises(KeyboardInterrupt):
        run_together(gather([one(1), one(2)]), 2)
    assert time.monotonic() - start < 5
    assert sorted(cleaned) == [1, 2]


async def test_cancelled() -> None:
    scene = Scene()
    task = asyncio.create_task(arun_together(scene.flow(), 2))
    await scene.is_writing.await_()
    await scene.is_there.await_()
    start = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - start < 5
    scene.check("async")
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("error", [InjectedCrash, asyncio.CancelledError])
async def test_struck_in_a_task(error: type[BaseException]) -> None:
    scene = Scene(raising(error))
    with pytest.raises(error):
        await asyncio.wait_for(arun_together(scene.flow(), 2), 20)
    scene.check("async")
    assert len(asyncio.all_tasks()) == 1


def test_ctrl_c_in_a_loop() -> None:
    """`asyncio.run` cancels the task, which cleans up, and raises what was meant."""
    scene = Scene(lambda: signal.raise_signal(signal.SIGINT))
    # A shell starts what runs in the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with no_deadlock(), pytest.raises(KeyboardInterrupt):
            asyncio.run(arun_together(scene.flow(), 2))
    finally:
        signal.signal(signal.SIGINT, before)
    scene.check("async")


@pytest.mark.parametrize("gathering", ["gather", "stream"])
@pytest.mark.parametrize("error", [InjectedCrash, asyncio.CancelledError])
async def test_the_first_of_several_and_none_is_left(
    driver: Driver, error: type[BaseException], gathering: str
) -> None:
    cleaned: list[int] = []

    def one(number: int) -> Flow[int]:
        try:
            yield from counted(lambda: None)
            yield from plain(raising(error) if number == 3 else lambda: None)
            return number
        finally:
            yield from plain(cleaned.append, number)

    flows = [one(n) for n in range(6)]
    flow = gather(flows) if gathering == "gather" else stream(iter_flows(flows), 6)
    with pytest.raises(error):
        await drive(driver, flow, 2)
    assert 3 in cleaned
    assert len(cleaned) == len(set(cleaned))
    if driver.name == "async":
        assert len(asyncio.all_tasks()) == 1


class Strikes:
    """Raises at a line that a module comes to.

    Args:
        number: At which one; those of `_unwind`, and after it, do not count.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != threads.__file__ or self.where:
            return None
        if event == "line" and frame.f_code.co_name not in {"__init__", "depth"}:
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_name}, line {frame.f_lineno}"
                raise KeyboardInterrupt
        return self


def small() -> tuple[Flow[Any], set[str], list[str]]:
    """Flows in all states, in as few lines as may be."""
    begun: set[str] = set()
    cleaned: list[str] = []

    def careful(name: str, flow: Flow[Any]) -> Flow[Any]:
        begun.add(name)
        return (yield from cleaning_up(flow, name, cleaned))

    def writes(number: int) -> Flow[None]:
        yield from take_turn()
        if number == 0:
            yield from plain(time.sleep, 0.001)

    def asks() -> Flow[None]:
        inner = careful("inner", counted(time.sleep, 0.002))
        yield from gather([inner])
        yield from pause(0.001)

    flows = [careful("asks", asks()), careful("first", writes(0)), careful("second", writes(1))]
    return careful("outer", stream(iter_flows(flows), 3)), begun, cleaned


def test_struck_at_any_line_of_the_scheduler() -> None:
    problems: list[str] = []
    for number in count(1):
        flow, begun, cleaned = small()
        strikes = Strikes(number)
        before = sys.gettrace()
        sys.settrace(strikes)
        try:
            with no_deadlock():
                run_together(flow, 1)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        if not strikes.where:
            break
        if missing := begun.difference(cleaned):
            problems.append(f"{strikes.where}: {sorted(missing)}")
        flow.close()
    assert number > 50
    assert problems == []
