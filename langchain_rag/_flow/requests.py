"""What a flow may ask its driver for."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

P = ParamSpec("P")
T = TypeVar("T")

Mode: TypeAlias = Literal["plain", "to_its_end", "counted", "here"]
"""How a driver must treat an operation.

- `plain`: in no special way.
- `to_its_end`: it writes. The asynchronous half of a synchronous store runs in a thread, which
  outlives the task that awaits it. A task that is cancelled meanwhile waits until the write is
  over, and is cancelled then: what comes after must not be overtaken by it.
- `counted`: only so many may be under way, such as a model's; see `run_together`.
- `here`: it is the caller's own code, which may be bound to the caller's thread.
"""


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of I/O that a flow asks its driver for.

    Attributes:
        mode: How the driver must treat it.
        sync: What `run` calls.
        async_: What `arun` calls and awaits.
        args: Positional arguments of either.
        kwargs: Keyword arguments of either.
    """

    mode: Mode
    sync: Callable[..., Any]
    async_: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Flows that may run side by side; see `gather`.

    Attributes:
        flows: Flows that have not been started.
    """

    flows: Sequence[Flow[Any]]


@dataclass(frozen=True, slots=True)
class Streamed:
    """Flows that are made one after the other, while those before them run; see `stream`.

    Attributes:
        produce: Returns a flow that returns the next flow, None after the last one.
        ahead: How many may be under way.
    """

    produce: Callable[[], Flow[Flow[Any] | None]]
    ahead: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What one flow of all may have at a time; see `take_turn`.

    Attributes:
        take: Whether to take it, or to give it back.
        aside: Whether operations may run in another thread meanwhile.
    """

    take: bool
    aside: bool = True


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait that takes up no thread; see `pause`.

    Attributes:
        seconds: How long.
    """

    seconds: float


Request: TypeAlias = Operation | Gathered | Streamed | Turn | Pause
"""What a flow may ask its driver for."""

Flow: TypeAlias = Generator[Request, Any, T]


class NotStartedError(Exception):
    """Stands for the result of a flow that was not started, since one beside it failed."""


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
    return call_as("plain", sync, async_, *args, **kwargs)


def call_as(
    mode: Mode,
    sync: Callable[P, T],
    async_: Callable[P, Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Flow[T]:
    """Do the same for an operation that the driver must treat in a certain way.

    Args:
        mode: The way; see `Mode`.
        sync: The synchronous callable.
        async_: Its asynchronous twin, which takes the same arguments.
        *args: Positional arguments of either.
        **kwargs: Keyword arguments of either.

    Returns:
        A flow to `yield from`, which returns what the chosen callable returned.
    """
    result: T = yield Operation(mode, sync, async_, args, kwargs)
    return result


def gather(flows: Sequence[Flow[T]]) -> Flow[list[T | Exception]]:
    """Run flows side by side, which needs `run_together` or `arun_together`.

    When one fails, those after it that have not yet called anything are not started; the
    others go on to their end.

    Args:
        flows: Flows that have not been started.

    Returns:
        A flow to `yield from`, which returns for each flow what it returned or raised, in
        their order; `NotStartedError` for one that was not started.
    """
    results: list[T | Exception] = yield Gathered(flows)
    return results


def stream(
    produce: Callable[[], Flow[Flow[T] | None]], ahead: int
) -> Flow[list[T | Exception]]:
    """Run flows side by side, as `gather` does, each made when there is room for it.

    When one fails, no more are made.

    Args:
        produce: Returns a flow that returns the next flow, None after the last one. What it
            raises stands for the result of the flow that it did not return.
        ahead: How many may be under way.

    Returns:
        A flow to `yield from`, which returns the same as `gather`.
    """
    results: list[T | Exception] = yield Streamed(produce, ahead)
    return results


def take_turn(*, aside: bool = True) -> Flow[None]:
    """Wait until no other flow of this driver has the turn, and take it.

    What has to be done by one flow at a time is done in turn, such as writing to a store that
    bears one call at a time. The synchronous operations of the flow that has the turn run in
    a thread beside counted ones, so that neither waits for the other.

    A flow that ends gives the turn back by itself.

    Args:
        aside: Whether that is so; where not, all of it runs in the caller's thread.

    Returns:
        A flow to `yield from`.
    """
    yield Turn(take=True, aside=aside)


def give_turn_back() -> Flow[None]:
    """Let other flows have the turn.

    Returns:
        A flow to `yield from`.
    """
    yield Turn(take=False)


def pause(seconds: float) -> Flow[None]:
    """Wait.

    Args:
        seconds: How long.

    Returns:
        A flow to `yield from`.
    """
    yield Pause(seconds)
