"""Drivers for flows that gather: many calls of a model at a time, and never more than so many.

One limit holds for everything that a flow gathers, however deep. A flow that waits for others
takes up no thread, so that nothing is ever blocked by its own children, and the limit is
reached as long as there is work: with 16, the model sees 16 calls until the last.

Only operations that say so (`call_as("counted", ...)`) run in threads and are counted. All
others run where `run` would run them, in the caller's thread, one after the other; those of the
flow that has the turn (`take_turn`) beside counted ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from langchain_rag._flow.requests import Flow, NotStartedError
from langchain_rag._flow.tasks import Tasks
from langchain_rag._flow.threads import Scheduler

T = TypeVar("T")


def run_together(flow: Flow[T], limit: int) -> T:
    """Drive a flow and all that it gathers with the synchronous half of their operations.

    Args:
        flow: A flow that has not been started.
        limit: Counted operations that may be under way.

    Returns:
        What the flow returns.
    """
    value: T = Scheduler(limit).run(flow)
    return value


async def arun_together(flow: Flow[T], limit: int) -> T:
    """Drive a flow and all that it gathers with the asynchronous half of their operations.

    Args:
        flow: A flow that has not been started.
        limit: Counted operations that may be under way.

    Returns:
        What the flow returns.
    """
    value: T = await Tasks(limit).run(flow)
    return value


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
