"""Runs flows side by side with the asynchronous half of their operations, each in a task."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from dataclasses import dataclass
from typing import Any

from langchain_rag._flow.drivers import performed
from langchain_rag._flow.groups import Group, Node
from langchain_rag._flow.requests import (
    Flow,
    Gathered,
    NotStartedError,
    Operation,
    Pause,
    Request,
    Streamed,
)


class Tasks:
    """Drives flows.

    Args:
        limit: Counted operations that may be under way.
    """

    def __init__(self, limit: int) -> None:
        self._limit = asyncio.Semaphore(limit)
        self._turn = asyncio.Lock()

    async def run(self, flow: Flow[Any]) -> Any:
        """Run a flow, and what it gathers, to the end.

        Args:
            flow: A flow that has not been started.

        Returns:
            What it returns.
        """
        return await _Drive(Node(flow), self._limit, self._turn).run()


@dataclass(slots=True)
class _Drive:
    """Drives one flow.

    A flow that has begun to call keeps its place until it is over, or waits for others: what
    it does with an answer, such as keeping it, is done before the next one is asked for.
    """

    node: Node
    limit: asyncio.Semaphore
    turn: asyncio.Lock
    holds: bool = False
    has_turn: bool = False

    async def run(self) -> Any:
        value, error = None, None
        flow = self.node.flow
        try:
            while True:
                try:
                    request = flow.send(value) if error is None else flow.throw(error)
                except StopIteration as stop:
                    return stop.value
                value, error = None, None
                try:
                    if (
                        isinstance(request, Operation)
                        and request.mode == "counted"
                        and not await self._start()
                    ):
                        flow.close()
                        return NotStartedError()
                    value = await self._requested(request)
                except BaseException as raised:  # noqa: BLE001 - the flow decides
                    error = raised
        finally:
            self._leave()
            self._give_turn_back()

    async def _start(self) -> bool:
        """Take a place for a counted operation; say whether the flow may go on."""
        if not self.holds:
            await self.limit.acquire()
            self.holds = True
        if not self.node.started and self.node.is_given_up():
            return False
        self.node.started = True
        return True

    def _leave(self) -> None:
        if self.holds:
            self.limit.release()
            self.holds = False

    def _give_turn_back(self) -> None:
        if self.has_turn:
            self.has_turn = False
            self.turn.release()

    async def _requested(self, request: Request) -> Any:
        if isinstance(request, Operation):
            return await performed(request)
        if isinstance(request, Pause):
            return await asyncio.sleep(request.seconds)
        if isinstance(request, Gathered):
            self._leave()
            return await self._together(request)
        if isinstance(request, Streamed):
            self._leave()
            return await self._streamed(request)
        if request.take:
            await self._take_turn()
        else:
            self._give_turn_back()
        return None

    async def _take_turn(self) -> None:
        if not self.has_turn:
            await self.turn.acquire()
            self.has_turn = True
            if self.node.is_given_up():
                self._give_turn_back()
                raise NotStartedError

    async def _settled(self, flow: Flow[Any], group: Group, position: int) -> Any:
        try:
            node = Node(flow, group, position, group.parent.started)
            return await _Drive(node, self.limit, self.turn).run()
        except Exception as error:  # noqa: BLE001 - the flow that gathers decides
            group.fail(position)
            return error

    async def _together(self, gathered: Gathered) -> list[Any]:
        group = Group(self.node)
        settled = (
            self._settled(flow, group, position) for position, flow in enumerate(gathered.flows)
        )
        tasks = [asyncio.ensure_future(one) for one in settled]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            await _cancelled(tasks)
            raise

    async def _streamed(self, streamed: Streamed) -> list[Any]:
        group = Group(self.node, source=streamed)
        results = group.results
        tasks = set[asyncio.Task[None]]()

        async def settle(settled: Coroutine[Any, Any, Any], position: int) -> None:
            results[position] = await settled

        try:
            while group.source is not None:
                if len(tasks) >= streamed.ahead:
                    done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    _raise_any(done)
                    continue
                position = len(results)
                produced = await self._settled(streamed.produce(), group, position)
                if produced is None:
                    break
                results.append(produced)
                if not isinstance(produced, Exception):
                    work = settle(self._settled(produced, group, position), position)
                    tasks.add(asyncio.ensure_future(work))
            await asyncio.gather(*tasks)
        except BaseException:
            await _cancelled(tasks)
            raise
        return results


async def _cancelled(tasks: Collection[asyncio.Future[Any]]) -> None:
    """Cancel tasks; nothing of them is left when this is over."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _raise_any(done: Collection[asyncio.Future[Any]]) -> None:
    """Raise what is no `Exception`, which ends all; every task is asked, so that none nags."""
    if any(task.cancelled() for task in done):
        raise asyncio.CancelledError
    for error in [task.exception() for task in done]:
        if error is not None:
            raise error
