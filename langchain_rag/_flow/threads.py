"""Runs flows side by side with the synchronous half of their operations.

The flows themselves advance in the caller's thread, one after the other. Counted operations
run in threads, as many as allowed. What the flow does that has the turn (it writes) runs in
one more thread while counted operations are under way, so that neither waits for the other;
while none is, in the caller's.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cached_property
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final

from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_rag._flow.groups import Group, Node
from langchain_rag._flow.requests import (
    Flow,
    Gathered,
    NotStartedError,
    Operation,
    Pause,
    Request,
    Streamed,
    Turn,
)

_PRODUCER: Final = -1
"""Position of the flow that makes the next one of a stream."""


class Scheduler:
    """Advances flows in the caller's thread, and their counted operations in others.

    Args:
        limit: Counted operations that may be under way.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pools: list[ContextThreadPoolExecutor] = []
        self._ready: deque[tuple[Node, Any, BaseException | None]] = deque()
        self._backlog: deque[tuple[Node, Operation]] = deque()
        self._under_way: dict[Future[Any], Node] = {}
        # What is over. `concurrent.futures.wait` would look at all that is under way for each.
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self._answered: set[int] = set()
        self._paused: list[tuple[float, int, Node]] = []
        self._numbers = count()  # so that nodes that are due together need no order
        self._turn: Node | None = None
        self._waiting: deque[Node] = deque()
        # What the turn is used for, and the same once it is under way in the writer's thread.
        self._aside: tuple[Node, Operation] | None = None
        self._writing: Future[Any] | None = None
        # All flows that have not ended, wherever they are: an interruption may come between
        # two steps, when a flow has left one list and is not in the next yet.
        self._open: dict[int, Node] = {}

    def run(self, flow: Flow[Any]) -> Any:
        """Run a flow, and what it gathers, to the end.

        Args:
            flow: A flow that has not been started.

        Returns:
            What it returns.
        """
        root = self._opened(Node(flow))
        self._ready.append((root, None, None))
        try:
            while True:
                while self._ready:
                    done, value = self._advance(*self._ready.popleft())
                    if done:
                        return value
                    # Between steps, since one may take long: a loader's, in this thread.
                    while not self._done.empty():
                        self._take(self._done.get_nowait())
                    self._begin()
                if not self._work_aside():
                    self._wait()
        except BaseException as error:
            self._unwind(error)
            raise
        finally:
            for pool in self._pools:
                # What is under way in a thread cannot be stopped; what has not begun does not
                # begin.
                pool.shutdown(wait=True, cancel_futures=True)

    @cached_property
    def _callers(self) -> ContextThreadPoolExecutor:
        """Runs counted operations."""
        return self._pool(self._limit)

    @cached_property
    def _writer(self) -> ContextThreadPoolExecutor:
        """Runs operations of the flow that has the turn, in one thread."""
        return self._pool(1)

    def _pool(self, workers: int) -> ContextThreadPoolExecutor:
        self._pools.append(ContextThreadPoolExecutor(max_workers=workers))
        return self._pools[-1]

    def _advance(self, node: Node, value: Any, error: BaseException | None) -> tuple[bool, Any]:
        """Run a flow to its next request; say whether all is done, and with what."""
        self._answered.discard(id(node))
        try:
            request = node.flow.send(value) if error is None else node.flow.throw(error)
        except StopIteration as stop:
            result = stop.value
        except Exception as failure:
            if node.group is None:
                raise
            node.group.fail(len(node.group.results) if _produces(node) else node.position)
            result = failure
        else:
            self._request(node, request)
            return False, None
        if self._turn is node:
            self._pass_turn()
        if node.group is None:
            return True, result
        self._close(node, node.group, result)
        return False, None

    def _request(self, node: Node, request: Request) -> None:
        if isinstance(request, Operation):
            if request.mode == "counted" and node.started:
                self._backlog.appendleft((node, request))  # it goes on before others begin
            elif request.mode == "counted":
                self._backlog.append((node, request))
            elif self._turn is node and node.aside and request.mode != "here":
                self._aside = (node, request)
            else:
                self._perform(node, request)
        elif isinstance(request, Gathered):
            group = Group(node, [None] * len(request.flows), open=len(request.flows))
            for position, flow in enumerate(request.flows):
                child = self._opened(Node(flow, group, position, node.started))
                self._ready.append((child, None, None))
            self._resume(group)
        elif isinstance(request, Streamed):
            group = Group(node, source=request)
            self._resume(group)
        elif isinstance(request, Pause):
            due = time.monotonic() + request.seconds
            heapq.heappush(self._paused, (due, next(self._numbers), node))
        else:
            self._exchange_turn(node, request)

    def _perform(self, node: Node, request: Operation) -> None:
        try:
            result = request.sync(*request.args, **request.kwargs)
        except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
            self._ready.append((node, None, error))
        else:
            self._ready.append((node, result, None))

    def _exchange_turn(self, node: Node, request: Turn) -> None:
        node.aside = request.aside
        if not request.take:
            if self._turn is node:
                self._pass_turn()
            self._ready.append((node, None, None))
        elif self._turn is node:
            self._ready.append((node, None, None))
        elif self._turn is None:
            self._grant(node)
        else:
            self._waiting.append(node)

    def _pass_turn(self) -> None:
        self._turn = None
        if self._waiting:
            self._grant(self._waiting.popleft())

    def _grant(self, node: Node) -> None:
        if node.is_given_up():
            self._ready.append((node, None, NotStartedError()))
            if self._waiting:
                self._grant(self._waiting.popleft())
            return
        self._turn = node
        self._ready.append((node, None, None))

    def _opened(self, node: Node) -> Node:
        self._open[id(node)] = node
        return node

    def _close(self, node: Node, group: Group, result: Any) -> None:
        del self._open[id(node)]
        if not _produces(node):
            group.results[node.position] = result
            group.open -= 1
        else:
            group.producing = False
            if isinstance(result, Exception):
                group.results.append(result)
            elif result is None:
                group.source = None
            else:
                position = len(group.results)
                group.results.append(None)
                group.open += 1
                child = self._opened(Node(result, group, position, group.parent.started))
                self._ready.append((child, None, None))
        self._resume(group)

    def _resume(self, group: Group) -> None:
        """Make the next flow of a stream, or go on with the flow that waits for a group."""
        if group.producing:
            return
        if group.source is not None and group.open < group.source.ahead:
            group.producing = True
            producer = self._opened(Node(group.source.produce(), group, _PRODUCER))
            self._ready.append((producer, None, None))
        elif group.open == 0:
            self._ready.append((group.parent, group.results, None))

    def _begin(self) -> None:
        """Begin what is counted, as much as may be under way."""
        if not self._backlog:
            return
        # A flow that pauses keeps its place: who is told to wait shall not be replaced by
        # others who will be told the same.
        # So does one that has an answer, until it has done with it what it does.
        resting = sum(node.started for *_, node in self._paused) + len(self._answered)
        while self._backlog and len(self._under_way) + resting < self._limit:
            node, operation = self._backlog.popleft()
            if node.group is not None and not node.started and node.is_given_up():
                node.flow.close()
                if self._turn is node:
                    self._pass_turn()
                self._close(node, node.group, NotStartedError())
                continue
            node.started = True
            submit = self._callers.submit
            future = submit(operation.sync, *operation.args, **operation.kwargs)
            self._under_way[future] = node
            future.add_done_callback(self._done.put)

    def _work_aside(self) -> bool:
        """Do what the turn is for; say whether that left something to advance."""
        if self._aside is None or self._writing is not None:
            return False
        node, operation = self._aside
        if not (self._under_way or self._paused):  # nothing to overlap with
            self._aside = None
            self._perform(node, operation)
            return True
        submit = self._writer.submit
        self._writing = submit(operation.sync, *operation.args, **operation.kwargs)
        self._writing.add_done_callback(self._done.put)
        return False

    def _wait(self) -> None:
        """Wait until something is over, and go on with what waits for it."""
        seconds = max(0.0, self._paused[0][0] - time.monotonic()) if self._paused else None
        if self._under_way or self._writing is not None:
            with suppress(Empty):
                self._take(self._done.get(timeout=seconds))
                while True:
                    self._take(self._done.get_nowait())
        elif seconds is not None:
            time.sleep(seconds)
        else:
            msg = "Flows wait for each other, and none can go on: a fault of langchain-rag."
            raise RuntimeError(msg)
        while self._paused and self._paused[0][0] <= time.monotonic():
            self._ready.append((heapq.heappop(self._paused)[2], None, None))

    def _take(self, future: Future[Any]) -> None:
        if future is self._writing and self._aside is not None:
            node, self._aside, self._writing = self._aside[0], None, None
        else:
            node = self._under_way.pop(future)
            self._answered.add(id(node))
        error = future.exception()
        self._ready.append((node, None if error else future.result(), error))

    def _unwind(self, error: BaseException) -> None:
        """Let all flows clean up, those that are gathered before those that wait for them."""
        nodes = sorted(self._open.values(), key=lambda one: -one.depth)
        try:
            if self._writing is not None:
                wait([self._writing])  # what comes after must not be overtaken by it
            for node in nodes:
                _end(node.flow, error)
        except BaseException:
            # Interrupted again: what is left gives up at once what it can.
            for node in nodes:
                node.flow.close()
            raise


def _produces(node: Node) -> bool:
    return node.position == _PRODUCER


def _end(flow: Flow[Any], error: BaseException) -> None:
    """Throw an error into a flow, and do what it still asks for."""
    try:
        request = flow.throw(error)
        while True:
            try:
                result = None
                if isinstance(request, Operation):
                    result = request.sync(*request.args, **request.kwargs)
                elif not isinstance(request, Turn):
                    raise NotStartedError  # noqa: TRY301 - it may not begin anything new
            except BaseException as second:  # noqa: BLE001 - the flow decides
                request = flow.throw(second)
            else:
                request = flow.send(result)
    except BaseException:  # noqa: BLE001 - the first error is the one that is raised
        return
