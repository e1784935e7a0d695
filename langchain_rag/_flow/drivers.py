"""Drivers for flows that do one operation after the other."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, TypeVar

from langchain_rag._flow.requests import (
    Flow,
    Gathered,
    NotStartedError,
    Operation,
    Pause,
    Streamed,
)

T = TypeVar("T")


def run(flow: Flow[T]) -> T:
    """Drive a flow with the synchronous half of its operations.

    Args:
        flow: A flow that has not been started.

    Returns:
        What the flow returns.
    """
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Operation):
                    result: Any = request.sync(*request.args, **request.kwargs)
                elif isinstance(request, Gathered):
                    result = _one_by_one(request)
                elif isinstance(request, Streamed):
                    result = _stream_one_by_one(request)
                else:
                    result = None
                    if isinstance(request, Pause):
                        time.sleep(request.seconds)
            except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
                request = flow.throw(error)
            else:
                request = flow.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


async def arun(flow: Flow[T]) -> T:
    """Drive a flow with the asynchronous half of its operations.

    Args:
        flow: A flow that has not been started.

    Returns:
        What the flow returns.
    """
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Operation):
                    result: Any = await performed(request)
                elif isinstance(request, Gathered):
                    result = await _aone_by_one(request)
                elif isinstance(request, Streamed):
                    result = await _astream_one_by_one(request)
                else:
                    result = None
                    if isinstance(request, Pause):
                        await asyncio.sleep(request.seconds)
            except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
                request = flow.throw(error)
            else:
                request = flow.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


def _one_by_one(gathered: Gathered) -> list[Any]:
    results: list[Any] = []
    for flow in gathered.flows:
        if results and isinstance(results[-1], Exception):
            flow.close()
            results.append(NotStartedError())
            continue
        try:
            results.append(run(flow))
        except Exception as error:  # noqa: BLE001 - the flow that gathers decides
            results.append(error)
    return results


async def _aone_by_one(gathered: Gathered) -> list[Any]:
    results: list[Any] = []
    for flow in gathered.flows:
        if results and isinstance(results[-1], Exception):
            flow.close()
            results.append(NotStartedError())
            continue
        try:
            results.append(await arun(flow))
        except Exception as error:  # noqa: BLE001 - the flow that gathers decides
            results.append(error)
    return results


def _stream_one_by_one(streamed: Streamed) -> list[Any]:
    results: list[Any] = []
    try:
        while (flow := run(streamed.produce())) is not None:
            results.append(run(flow))
    except Exception as error:  # noqa: BLE001 - the flow that streams decides
        results.append(error)
    return results


async def _astream_one_by_one(streamed: Streamed) -> list[Any]:
    results: list[Any] = []
    try:
        while (flow := await arun(streamed.produce())) is not None:
            results.append(await arun(flow))
    except Exception as error:  # noqa: BLE001 - the flow that streams decides
        results.append(error)
    return results


async def performed(operation: Operation) -> Any:
    """Await the asynchronous half of an operation.

    Args:
        operation: The operation.

    Returns:
        Its result.
    """
    awaitable = operation.async_(*operation.args, **operation.kwargs)
    if operation.mode != "to_its_end":
        return await awaitable
    task = asyncio.ensure_future(awaitable)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            # Cancelled or failed, the caller is told of the cancellation; asking for the
            # failure keeps asyncio from reporting it as forgotten.
            task.exception()
        raise
