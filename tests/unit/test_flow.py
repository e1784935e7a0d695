"""One body, two drivers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from langchain_rag._flow import Flow, arun, call, gather, pause, run, stream, take_turn

Drive = Callable[[Flow[Any]], Any]


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param == "sync":
        return run
    return lambda flow: asyncio.run(arun(flow))


class Io:
    """Both halves of one operation."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.log: list[Any] = []
        self.error = error

    def do(self, *args: Any, **kwargs: Any) -> Any:
        self.log.append((args, kwargs))
        if self.error is not None:
            raise self.error
        return args[0] if args else None

    async def ado(self, *args: Any, **kwargs: Any) -> Any:
        return self.do(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Flow[Any]:
        return call(self.do, self.ado, *args, **kwargs)


def test_results_come_back_and_arguments_arrive(drive: Drive) -> None:
    io = Io()

    def flow() -> Flow[list[Any]]:
        first = yield from io(1, key="a")
        second = yield from io(first + 1)
        return [first, second]

    assert drive(flow()) == [1, 2]
    assert io.log == [((1,), {"key": "a"}), ((2,), {})]


def test_a_flow_without_operations(drive: Drive) -> None:
    def flow() -> Flow[int]:
        yield from ()
        return 3

    assert drive(flow()) == 3


class Stopped(BaseException):
    """Not an Exception, like KeyboardInterrupt and CancelledError."""


@pytest.mark.parametrize("error", [ValueError("no"), Stopped(), asyncio.CancelledError()])
def test_errors_are_thrown_in_where_they_arose(drive: Drive, error: BaseException) -> None:
    bad, good = Io(error), Io()
    seen: list[str] = []

    def flow() -> Flow[None]:
        try:
            yield from bad(1)
        except BaseException as caught:
            seen.append("caught" if caught is error else repr(caught))
            raise
        finally:
            yield from good("clean")
            seen.append("finally")

    with pytest.raises(type(error)) as raised:
        drive(flow())
    assert raised.value is error or isinstance(error, asyncio.CancelledError)
    assert seen == ["caught", "finally"]
    assert good.log == [(("clean",), {})]


def test_a_flow_may_go_on_after_an_error(drive: Drive) -> None:
    bad, good = Io(ValueError("no")), Io()

    def flow() -> Flow[Any]:
        try:
            yield from bad()
        except ValueError:
            return (yield from good("instead"))

    assert drive(flow()) == "instead"


def test_an_error_of_the_flow_itself(drive: Drive) -> None:
    def flow() -> Flow[None]:
        yield from Io()()
        msg = "own"
        raise KeyError(msg)

    with pytest.raises(KeyError, match="own"):
        drive(flow())


def test_stop_iteration_of_an_operation_is_no_result() -> None:
    def flow() -> Flow[None]:
        yield from Io(StopIteration("x"))()

    with pytest.raises(RuntimeError):
        run(flow())


def test_an_error_before_the_first_operation(drive: Drive) -> None:
    def flow() -> Flow[None]:
        int("early")
        yield from Io()()

    with pytest.raises(ValueError, match="early"):
        drive(flow())


@pytest.mark.parametrize(
    "ask", [lambda io: gather([io()]), lambda io: stream(io, 1), lambda _: take_turn()]
)
def test_what_needs_several_flows_is_refused(drive: Drive, ask: Callable[[Io], Any]) -> None:
    io, good = Io(), Io()

    def flow() -> Flow[None]:
        try:
            yield from ask(io)
        finally:
            yield from good("clean")

    with pytest.raises(RuntimeError, match=r"run_together .* a fault of langchain-rag"):
        drive(flow())
    assert io.log == []
    assert good.log == [(("clean",), {})]


def test_a_pause_is_waited_for(drive: Drive) -> None:
    start = time.monotonic()
    drive(pause(0.02))
    assert time.monotonic() - start >= 0.02


async def test_cancellation_reaches_the_flow() -> None:
    started, seen = asyncio.Event(), []

    async def wait() -> None:
        started.set()
        await asyncio.sleep(60)

    def flow() -> Flow[None]:
        try:
            yield from call(lambda: None, wait)
        finally:
            seen.append("finally")

    task = asyncio.create_task(arun(flow()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["finally"]
