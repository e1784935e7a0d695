"""Flows for the tests of the drivers, and what must hold while they run."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from langchain_rag._flow import Flow, Mode, arun, call, call_as, run
from langchain_rag._flow.together import arun_together, run_together

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from langchain_rag.testing import Driver

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 3.0
"""Seconds after which something that was to happen has not."""


class Calls:
    """Counts how many are under way."""

    def __init__(self, seconds: float = 0.005) -> None:
        self.seconds = seconds
        self.now = 0
        self.most = 0
        self.made: list[int] = []
        self.threads: set[int] = set()
        self._lock = threading.Lock()

    @contextmanager
    def counted(self, number: int) -> Iterator[None]:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.made.append(number)
            self.threads.add(threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                self.now -= 1

    def sync(self, number: int) -> int:
        with self.counted(number):
            time.sleep(self.seconds)
            return self.result(number)

    async def async_(self, number: int) -> int:
        with self.counted(number):
            await asyncio.sleep(self.seconds)
            return self.result(number)

    def result(self, number: int) -> int:
        if number < 0:
            raise ValueError(number)
        return number * 10

    def flow(self, number: int) -> Flow[int]:
        return (yield from call_as("counted", self.sync, self.async_, number))

    def plain(self, number: int) -> Flow[int]:
        """The same, as an operation that is not counted."""
        return (yield from call(self.sync, self.async_, number))


class Gate:
    """Something that happens once, and that others wait for."""

    def __init__(self) -> None:
        self._open = threading.Event()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def open(self) -> None:
        self._open.set()

    def wait(self) -> None:
        assert self._open.wait(PATIENCE), "what it waits for does not happen"

    async def await_(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._open.is_set():
            assert time.monotonic() < deadline, "what it waits for does not happen"
            await asyncio.sleep(0.001)


def twin(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """The asynchronous half that does the same."""

    async def atwin(*args: P.args, **kwargs: P.kwargs) -> T:
        await asyncio.sleep(0)
        return function(*args, **kwargs)

    return atwin


def plain(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
    return (yield from call(function, twin(function), *args, **kwargs))


def counted(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
    return (yield from call_as("counted", function, twin(function), *args, **kwargs))


def here(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
    return (yield from call_as("here", function, twin(function), *args, **kwargs))


def waiting(begun: Gate, wait_for: Gate, mode: Mode = "counted") -> Flow[None]:
    """Ask for an operation that says that it has begun, and waits."""

    def sync() -> None:
        begun.open()
        wait_for.wait()

    async def async_() -> None:
        begun.open()
        await wait_for.await_()

    yield from call_as(mode, sync, async_)


async def drive(driver: Driver, flow: Flow[Any], limit: int) -> Any:
    """Run a flow with what it gathers side by side."""
    with no_deadlock():
        if driver.name == "sync":
            return run_together(flow, limit)
        return await arun_together(flow, limit)


async def drive_plainly(driver: Driver, flow: Flow[Any]) -> Any:
    """Run a flow that does one operation after the other."""
    return run(flow) if driver.name == "sync" else await arun(flow)


@contextmanager
def no_deadlock(seconds: float = 2 * PATIENCE) -> Iterator[None]:
    """End what does not end by itself."""

    def end(*_: Any) -> None:
        msg = "flows wait for each other, and for nothing else"
        raise AssertionError(msg)

    with alarm(seconds, end):
        yield


@contextmanager
def alarm(seconds: float, ring: Callable[..., Any]) -> Iterator[None]:
    """Do something in the main thread after a while, whatever that is doing then."""
    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)
