"""One body for sync and async.

A *flow* is a generator that yields operations and receives their results. It never does
I/O itself, so two small drivers can run the same body: `run` calls the synchronous half of
each operation, `arun` awaits the asynchronous half. httpx runs its `auth_flow` and psycopg
its protocol generators the same way.

Exceptions, `KeyboardInterrupt` and `asyncio.CancelledError` among them, are thrown back
into the generator at the operation that raised them, so `try`/`finally` in a flow works as
it reads.

Example:
    >>> import asyncio
    >>> def read() -> str:
    ...     return "sync"
    >>> async def aread() -> str:
    ...     return "async"
    >>> def shout() -> Flow[str]:
    ...     text = yield from call(read, aread)
    ...     return text.upper()
    >>> run(shout())
    'SYNC'
    >>> asyncio.run(arun(shout()))
    'ASYNC'
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of I/O that a flow asks its driver for.

    Attributes:
        sync: What `run` calls.
        async_: What `arun` calls and awaits.
        args: Positional arguments of either.
        kwargs: Keyword arguments of either.
        to_its_end: Whether a cancelled task waits for it; see `call_to_its_end`.
    """

    sync: Callable[..., Any]
    async_: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    to_its_end: bool = False


Flow: TypeAlias = Generator[Operation, Any, T]


def call(
    sync: Callable[P, T],
    async_: Callable[P, Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Flow[T]:
    """Ask the driver for one operation, and return its result.

    Args:
        sync: The synchronous callable.
        async_: Its asynchronous twin, which takes the same arguments.
        *args: Positional arguments of either.
        **kwargs: Keyword arguments of either.

    Returns:
        A flow to `yield from`, which returns what the chosen callable returned.
    """
    result: T = yield Operation(sync, async_, args, kwargs)
    return result


def call_to_its_end(
    sync: Callable[P, T],
    async_: Callable[P, Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Flow[T]:
    """Do the same for an operation that writes.

    The asynchronous half of a synchronous store runs in a thread, which outlives the task
    that awaits it. A task that is cancelled meanwhile waits until the write is over, and is
    cancelled then: what comes after must not be overtaken by it.

    Args:
        sync: The synchronous callable.
        async_: Its asynchronous twin, which takes the same arguments.
        *args: Positional arguments of either.
        **kwargs: Keyword arguments of either.

    Returns:
        A flow to `yield from`, which returns what the chosen callable returned.
    """
    result: T = yield Operation(sync, async_, args, kwargs, to_its_end=True)
    return result


def run(flow: Flow[T]) -> T:
    """Drive a flow with the synchronous half of its operations.

    Args:
        flow: A flow that has not been started.

    Returns:
        What the flow returns.
    """
    try:
        operation = next(flow)
        while True:
            try:
                result = operation.sync(*operation.args, **operation.kwargs)
            except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
                operation = flow.throw(error)
            else:
                operation = flow.send(result)
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
        operation = next(flow)
        while True:
            try:
                result = await _performed(operation)
            except BaseException as error:  # noqa: BLE001 - the flow decides, whatever it is
                operation = flow.throw(error)
            else:
                operation = flow.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


async def _performed(operation: Operation) -> Any:
    awaitable = operation.async_(*operation.args, **operation.kwargs)
    if not operation.to_its_end:
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
