"""Random trees of flows do what they do one after the other, as far as nothing failed."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_rag._flow import (
    Flow,
    NotStartedError,
    gather,
    give_turn_back,
    pause,
    stream,
    take_turn,
)
from langchain_rag._flow.together import failures, values_of
from tests.unit.flows import counted, drive, here, plain

if TYPE_CHECKING:
    from langchain_rag.testing import Driver


@dataclass(frozen=True)
class Step:
    """Something that a flow does.

    Attributes:
        kind: `"counted"`, `"plain"`, `"here"`, `"pause"`, `"fail"`, `"turn"`, `"gather"` or
            `"stream"`.
        number: What it returns, or raises.
        flows: What it gathers, or streams.
        strict: Whether a failure of what is gathered is one of the flow that gathers.
        ahead: Of a stream.
        fails_at: Position at which the producer of a stream raises.
    """

    kind: str
    number: int = 0
    flows: tuple[Tree, ...] = ()
    strict: bool = False
    ahead: int = 1
    fails_at: int | None = None


@dataclass(frozen=True)
class Tree:
    """A flow: its steps, one after the other."""

    steps: tuple[Step, ...]


numbers = st.integers(0, 99)
simple = st.builds(
    Step, st.sampled_from(["counted", "counted", "plain", "here", "pause"]), numbers
)
failing = st.builds(Step, st.sampled_from(["fail", "counted fail", "plain fail"]), numbers)
turns = st.just(Step("turn"))
steps = st.one_of(simple, simple, simple, turns, turns, failing)


def trees(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    flows = st.lists(children, max_size=6).map(tuple)
    gathers = st.builds(Step, st.just("gather"), st.just(0), flows, st.booleans())
    streams = st.builds(
        Step,
        st.just("stream"),
        st.just(0),
        flows,
        st.booleans(),
        st.integers(1, 3),
        st.none() | st.integers(0, 6),
    )
    return st.lists(steps | gathers | streams, max_size=4).map(lambda s: Tree(tuple(s)))


leaves = st.lists(steps, max_size=4).map(lambda s: Tree(tuple(s)))
forests = st.recursive(leaves, trees, max_leaves=14)


@dataclass
class Watch:
    """What must hold while the flows of a tree run."""

    limit: int
    counted: int = 0
    most: int = 0
    turn: object = None
    open: int = 0
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, number: int, *, fail: bool) -> int:
        with self.lock:
            self.counted += 1
            self.most = max(self.most, self.counted)
        time.sleep(number % 3 * 0.0005)
        with self.lock:
            self.counted -= 1
        return self.done(number, fail=fail)

    def done(self, number: int, *, fail: bool) -> int:
        if fail:
            raise ValueError(number)
        return number

    def write(self, owner: object) -> None:
        if self.turn not in {None, owner}:
            self.problems.append("two flows have the turn")
        self.turn = owner
        time.sleep(0.0003)

    def flow(self, tree: Tree) -> Flow[list[Any]]:
        """Run a tree with all that the driver offers."""
        self.open += 1
        try:
            results: list[Any] = []
            for step in tree.steps:
                result = yield from self._step(step)
                results += [result]
            return results
        finally:
            self.open -= 1

    def _step(self, step: Step) -> Flow[Any]:
        number, fail = step.number, step.kind.endswith("fail")
        if step.kind.startswith("counted"):
            return (yield from counted(lambda: self.call(number, fail=fail)))
        if step.kind.startswith("plain"):
            return (yield from plain(lambda: self.done(number, fail=fail)))
        if step.kind == "here":
            return (yield from here(lambda: number))
        if step.kind == "pause":
            yield from pause(number % 3 * 0.0005)
            return number
        if step.kind == "turn":
            return (yield from self._turn())
        if fail:
            raise ValueError(number)
        flows = [self.flow(child) for child in step.flows]
        if step.kind == "gather":
            results = yield from gather(flows)
        else:
            results = yield from self._stream(step, flows)
        return values_of(results) if step.strict else results

    def _turn(self) -> Flow[str]:
        owner = object()
        yield from take_turn()
        for _ in range(2):
            yield from plain(self.write, owner)
        self.turn = None
        yield from give_turn_back()
        return "turn"

    def _stream(self, step: Step, flows: list[Flow[Any]]) -> Flow[list[Any]]:
        left = iter(flows)
        asked = 0
        under_way = 0

        def around(flow: Flow[Any]) -> Flow[Any]:
            nonlocal under_way
            under_way += 1
            if under_way > step.ahead:
                self.problems.append("too many flows of a stream")
            try:
                return (yield from flow)
            finally:
                under_way -= 1

        def produce() -> Flow[Flow[Any] | None]:
            nonlocal asked
            asked += 1
            yield from here(lambda: None)
            if asked - 1 == step.fails_at:
                raise ValueError(step.number)
            flow = next(left, None)
            return None if flow is None else around(flow)

        return (yield from stream(produce, step.ahead))


def ideal(tree: Tree) -> Any:
    """Say what a flow returns or raises when what fails stops nothing beside it."""
    results: list[Any] = []
    for step in tree.steps:
        if step.kind.endswith("fail"):
            return ValueError(step.number)
        if step.kind not in {"gather", "stream"}:
            results.append("turn" if step.kind == "turn" else step.number)
            continue
        inner = [ideal(child) for child in step.flows]
        if step.fails_at is not None and step.fails_at <= len(inner):
            inner = [*inner[: step.fails_at], ValueError(step.number)]
        if step.strict and any(isinstance(one, Exception) for one in inner):
            return next(one for one in inner if isinstance(one, Exception))
        results.append(inner)
    return results


def agrees(wanted: Any, got: Any, *, given_up: bool = False) -> bool:
    """Say whether a result is the ideal one, as far as nothing before it failed.

    Args:
        wanted: What `ideal` says.
        got: What there is.
        given_up: Whether something before it failed, so that any part of it may be missing.
    """
    if given_up and isinstance(got, NotStartedError):
        return True
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        return type(wanted) is type(got) and wanted.args == got.args
    if not isinstance(wanted, list) or not isinstance(got, list):
        return bool(wanted == got)
    first = next((n for n, one in enumerate(wanted) if isinstance(one, Exception)), None)
    if len(got) != len(wanted) and (
        not (given_up or (first is not None and len(got) > first)) or len(got) > len(wanted)
    ):
        return False
    return all(
        agrees(one, other, given_up=given_up or (first is not None and position > first))
        for position, (one, other) in enumerate(zip(wanted, got, strict=False))
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=forests, limit=st.integers(1, 4))
def test_the_same_as_one_after_the_other(driver: Driver, tree: Tree, limit: int) -> None:
    watch = Watch(limit)

    async def body() -> Any:
        try:
            return await drive(driver, watch.flow(tree), limit)
        except ValueError as error:
            return error

    got = asyncio.run(body())
    assert agrees(ideal(tree), got), (ideal(tree), got)
    assert watch.problems == []
    assert watch.most <= limit
    assert watch.open == 0
    if isinstance(got, list) and not any(failures(got)):
        assert watch.turn is None
