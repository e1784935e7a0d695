"""Drivers for flows that gather: many calls of a model at a time, and never more than so many.

One limit holds for everything that a flow gathers, however deep. A flow that waits for others
takes up no thread, so that nothing is ever blocked by its own children, and the limit is
reached as long as there is work: with 16, the model sees 16 calls until the last.

Only operations that say so (`call_counted`) run in threads and are counted. All others run
where `run` would run them, in the caller's thread, one after the other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_rag._flow import Flow, Gathered, NotStartedError, Operation, performed

T = TypeVar("T")


def run_together(flow: Flow[T], limit: int) -> T:
    """Drive a flow and all that it gathers with the synchronous half of their operations.

    Args:
        flow: A flow that has not been started.
        limit: Counted operations that may be under way.

    Returns:
        What the flow returns.
    """
    executor = ContextThreadPoolExecutor(max_workers=limit)
    try:
        value: T = _Scheduler(executor, limit).run(flow)
        return value
    finally:
        # What is under way in a thread cannot be stopped; what has not begun does not begin.
        executor.shutdown(wait=True, cancel_futures=True)


async def arun_together(flow: Flow[T], limit: int) -> T:
    """Drive a flow and all that it gathers with the asynchronous half of their operations.

    Args:
        flow: A flow that has not been started.
        limit: Counted operations that may be under way.

    Returns:
        What the flow returns.
    """
    value: T = await _drive(flow, asyncio.Semaphore(limit), ())
    return value


@dataclass(slots=True, eq=False)
class _Group:
    """What a flow gathers."""

    parent: _Node
    results: list[Any]
    open: int
    failed: bool = False


@dataclass(slots=True, eq=False)
class _Node:
    """A flow that runs."""

    flow: Flow[Any]
    group: _Group | None = None
    position: int = 0
    started: bool = False  # whether it has begun to do something that is counted

    def is_given_up(self) -> bool:
        """Say whether a flow beside it, or beside one that gathers it, has failed."""
        group = self.group
        while group is not None:
            if group.failed:
                return True
            group = group.parent.group
        return False


class _Scheduler:
    """Advances flows in the caller's thread, and their counted operations in others."""

    def __init__(self, executor: ContextThreadPoolExecutor, limit: int) -> None:
        self.executor = executor
        self.limit = limit
        self.ready: deque[tuple[_Node, Any, BaseException | None]] = deque()
        self.backlog: deque[tuple[_Node, Operation]] = deque()
        self.under_way: dict[Future[Any], _Node] = {}

    def run(self, flow: Flow[Any]) -> Any:
        root = _Node(flow)
        self.ready.append((root, None, None))
        try:
            while True:
                while self.ready:
                    done, value = self._advance(*self.ready.popleft())
                    if done:
                        return value
                    self._begin()
                self._wait()
        except BaseException:
            self._stop(root)
            raise

    def _advance(
        self, node: _Node, value: Any, error: BaseException | None
    ) -> tuple[bool, Any]:
        """Run a flow to its next request; say whether all is done, and with what."""
        try:
            request = node.flow.send(value) if error is None else node.flow.throw(error)
        except StopIteration as stop:
            result = stop.value
        except Exception as failure:
            if node.group is None:
                raise
            node.group.failed = True
            result = failure
        else:
            self._request(node, request)
            return False, None
        if node.group is None:
            return True, result
        self._close(node.group, node.position, result)
        return False, None

    def _request(self, node: _Node, request: Operation | Gathered) -> None:
        if isinstance(request, Gathered):
            group = _Group(node, [None] * len(request.flows), len(request.flows))
            if not request.flows:
                self.ready.append((node, [], None))
            for position, flow in enumerate(request.flows):
                self.ready.append((_Node(flow, group, position, node.started), None, None))
        elif request.counted:
            self.backlog.append((node, request))
        else:
            try:
                result = request.sync(*request.args, **request.kwargs)
            except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
                self.ready.append((node, None, error))
            else:
                self.ready.append((node, result, None))

    def _close(self, group: _Group, position: int, result: Any) -> None:
        group.results[position] = result
        group.open -= 1
        if group.open == 0:
            self.ready.append((group.parent, group.results, None))

    def _begin(self) -> None:
        """Begin what is counted, as much as may be under way."""
        while self.backlog and len(self.under_way) < self.limit:
            node, operation = self.backlog.popleft()
            if node.group is not None and not node.started and node.is_given_up():
                node.flow.close()
                self._close(node.group, node.position, NotStartedError())
                continue
            node.started = True
            future = self.executor.submit(operation.sync, *operation.args, **operation.kwargs)
            self.under_way[future] = node

    def _wait(self) -> None:
        done, _ = wait(self.under_way, return_when=FIRST_COMPLETED)
        for future in done:
            node = self.under_way.pop(future)
            error = future.exception()
            self.ready.append((node, None if error else future.result(), error))

    def _stop(self, root: _Node) -> None:
        """Let all flows clean up: those that are gathered first."""
        for node in [*(node for node, *_ in self.ready), *self.under_way.values()]:
            if node is not root:
                node.flow.close()
        for node, _ in self.backlog:
            node.flow.close()
        root.flow.close()


async def _drive(
    flow: Flow[Any], limit: asyncio.Semaphore, failed: tuple[list[bool], ...]
) -> Any:
    """Drive one flow; `failed` says of each group around it whether it has failed.

    A flow that has begun to call keeps its place until it is over, or waits for others: what
    it does with an answer, such as keeping it, is done before the next one is asked for.
    """
    started = holds = False
    value, error = None, None
    try:
        while True:
            try:
                request = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as stop:
                return stop.value
            value, error = None, None
            try:
                if isinstance(request, Gathered):
                    if holds:
                        limit.release()
                        holds = False
                    value = await _together(request, limit, failed)
                    continue
                if request.counted and not holds:
                    await limit.acquire()
                    holds = True
                if request.counted and not started:
                    if any(flag[0] for flag in failed):
                        flow.close()
                        return NotStartedError()
                    started = True
                value = await performed(request)
            except BaseException as raised:  # noqa: BLE001 - the flow decides, whatever it is
                error = raised
    finally:
        if holds:
            limit.release()


async def _together(
    gathered: Gathered, limit: asyncio.Semaphore, failed: tuple[list[bool], ...]
) -> list[Any]:
    flag = [False]

    async def settled(flow: Flow[Any]) -> Any:
        try:
            return await _drive(flow, limit, (*failed, flag))
        except Exception as error:  # noqa: BLE001 - the flow that gathers decides
            flag[0] = True
            return error

    tasks = [asyncio.ensure_future(settled(flow)) for flow in gathered.flows]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        # Cancelled: so are they, and nothing of them is left when this is over.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def failures(results: list[Any]) -> Iterator[tuple[int, Exception]]:
    """Go through what failed of what was gathered.

    Args:
        results: What `gather` returned.

    Yields:
        Positions and exceptions, without those of flows that were not started.
    """
    for position, result in enumerate(results):
        if isinstance(result, Exception) and not isinstance(result, NotStartedError):
            yield position, result


def values_of(results: list[T | Exception]) -> list[T]:
    """Return what was gathered, if all of it is there.

    Args:
        results: What `gather` returned.

    Returns:
        The results.

    Raises:
        Exception: What the first flow raised that failed.
        NotStartedError: Some were not started, since something beside all of them failed.
    """
    for _, error in failures(results):
        raise error
    values: list[T] = []
    for result in results:
        if isinstance(result, Exception):
            raise result
        values.append(result)
    return values
