"""Drivers for flows that do one operation after the other."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from langchain_rag._flow.requests import Flow, Operation, Pause, Request

T = TypeVar("T")


def run(flow: Flow[T]) -> T:
    """Drive a flow with the synchronous half of its operations.

    Args:
        flow: A flow that has not been started.

    Returns:
        What the flow returns.

    Raises:
        RuntimeError: It asks for what only the drivers in `langchain_rag._flow.together` do.
    """
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Operation):
                    result: Any = request.sync(*request.args, **request.kwargs)
                elif isinstance(request, Pause):
                    result = None
                    time.sleep(request.seconds)
                else:
                    _refuse(request)
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

    Raises:
        RuntimeError: It asks for what only the drivers in `langchain_rag._flow.together` do.
    """
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Operation):
                    result: Any = await performed(request)
                elif isinstance(request, Pause):
                    result = None
                    await asyncio.sleep(request.seconds)
                else:
                    _refuse(request)
            except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
                request = flow.throw(error)
            else:
                request = flow.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


def _refuse(request: Request) -> NoReturn:
    msg = (
        f"A flow asked for {type(request).__name__}, which only run_together and"
        " arun_together know of: a fault of langchain-rag."
    )
    raise RuntimeError(msg)


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
