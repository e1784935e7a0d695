"""A plan of faults: which mutating call fails, at which moment, and how.

A `FaultPlan` is shared by the stores of one test (`FaultyVectorStore`, `FaultyDocStore`),
so that their mutating calls are numbered in the one order in which they happen.

Example:
    >>> from langchain_core.documents import Document
    >>> from langchain_core.stores import InMemoryStore
    >>> from langchain_rag.testing import FaultPlan, FaultyDocStore, InjectedFault
    >>> plan = FaultPlan()
    >>> store = FaultyDocStore(InMemoryStore(), plan)
    >>> plan.arm(2, "inside")
    >>> store.mset([("a", Document("1"))])
    >>> try:
    ...     store.mset([("b", Document("2")), ("c", Document("3"))])
    ... except InjectedFault as error:
    ...     print(error)
    injected inside call 2: mset of 2
    >>> sorted(store.yield_keys())
    ['a', 'b']
    >>> [(call.name, call.size) for call in plan.calls]
    [('mset', 1), ('mset', 2)]
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["MOMENTS", "Call", "FaultPlan", "InjectedCrash", "InjectedFault", "Moment"]

Moment: TypeAlias = Literal["before", "inside", "after"]
"""Nothing of the call was done; the first half of its rows was; all of them were."""

MOMENTS: Final[tuple[Moment, ...]] = ("before", "inside", "after")


class InjectedFault(Exception):  # noqa: N818 - a fault, in the words of the fault plans
    """An ordinary failure: the call raises, and the program goes on."""


class InjectedCrash(BaseException):
    """The death of the process: nothing that runs afterwards reaches a store.

    A `BaseException`, so that no `except Exception` takes it for something to handle.
    """


@dataclass(frozen=True, slots=True)
class Call:
    """One mutating call that reached a faulty store.

    Attributes:
        name: Name of the synchronous method, such as `"add_documents"` or `"mset"`.
        size: How many rows or keys it was given.
        keys: The ids or keys themselves, where the caller named them.
    """

    name: str
    size: int
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a faulty store does for one mutating call.

    Attributes:
        rows: How many of the rows to pass on; `None` means the call as it came.
        error: What to raise afterwards.
    """

    rows: int | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class _Fault:
    number: int
    moment: Moment
    flavour: type[BaseException]
    countdown: int


class FaultPlan:
    """Numbers the mutating calls of the stores that share it, and makes some of them fail.

    Attributes:
        calls: Every mutating call since the plan was made or `forget` was called, the
            failed ones included.
        dead: True from an `InjectedCrash` until `restart`.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.dead = False
        self._faults: deque[_Fault] = deque()

    def arm(
        self,
        call: int,
        moment: Moment,
        flavour: type[BaseException] = InjectedFault,
    ) -> None:
        """Make one of the next mutating calls fail.

        Faults that are armed together strike one after the other: each counts from where
        the one before it struck.

        Args:
            call: Which one; 1 is the next.
            moment: When, within that call.
            flavour: What to raise. After an `InjectedCrash` every call raises it again,
                until `restart`. `KeyboardInterrupt` or `asyncio.CancelledError` serve too.

        Raises:
            ValueError: If `call` is below 1.
        """
        if call < 1:
            msg = f"call must be 1 (the next one) or more, not {call}."
            raise ValueError(msg)
        self._faults.append(_Fault(call, moment, flavour, call))

    @property
    def armed(self) -> bool:
        """Whether a fault is still to come: the calls did not get that far."""
        return bool(self._faults)

    def disarm(self) -> None:
        """Take back the faults that are still to come."""
        self._faults.clear()

    def restart(self) -> None:
        """Start the process again: calls reach the stores, and no fault is armed."""
        self.dead = False
        self.disarm()

    def forget(self) -> None:
        """Empty the log of calls."""
        self.calls.clear()

    def names(self) -> list[str]:
        """Return the names of the logged calls, in order."""
        return [call.name for call in self.calls]

    def check(self) -> None:
        """Raise if the process is dead; for calls that change nothing.

        Raises:
            InjectedCrash: If the process is dead.
        """
        if self.dead:
            msg = "the process is dead: call restart() on the plan"
            raise InjectedCrash(msg)

    def begin(self, name: str, size: int, keys: tuple[str, ...] = ()) -> Ticket:
        """Number and log a mutating call; for the faulty stores.

        Args:
            name: Name of the synchronous method.
            size: How many rows or keys it was given.
            keys: The ids or keys, where the caller named them.

        Returns:
            What to do, to be handed to `finish` when it is done.
        """
        self.check()
        self.calls.append(Call(name, size, keys))
        if not self._faults:
            return Ticket()
        fault = self._faults[0]
        fault.countdown -= 1
        if fault.countdown:
            return Ticket()
        self._faults.popleft()
        where = f"{fault.moment} call {fault.number}: {name} of {size}"
        error = fault.flavour(f"injected {where}")
        if fault.moment == "before":
            self._raise(error)
        return Ticket(size // 2 if fault.moment == "inside" else None, error)

    def finish(self, ticket: Ticket) -> None:
        """Raise what the ticket holds, if anything; for the faulty stores.

        Args:
            ticket: What `begin` returned.
        """
        if ticket.error is not None:
            self._raise(ticket.error)

    def _raise(self, error: BaseException) -> None:
        self.dead = isinstance(error, InjectedCrash)
        raise error
