"""What one flow does at a time, while the others go on with what is counted."""

from __future__ import annotations

import contextvars
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from langchain_rag._flow import (
    Flow,
    NotStartedError,
    gather,
    give_turn_back,
    pause,
    take_turn,
)
from langchain_rag._flow.together import values_of
from tests.unit.flows import (
    Calls,
    Gate,
    counted,
    drive,
    here,
    no_deadlock,
    plain,
    waiting,
)

if TYPE_CHECKING:
    from langchain_rag.testing import Driver


class Room:
    """What only the flow that has the turn may be in."""

    def __init__(self) -> None:
        self.inside: int | None = None
        self.visits: list[int] = []
        self.threads: list[int] = []

    def visit(self, number: int) -> None:
        assert self.inside in {None, number}, f"{number} meets {self.inside}"
        self.inside = number
        self.threads.append(threading.get_ident())
        time.sleep(0.001)

    def leave(self, number: int) -> None:
        assert self.inside == number
        self.inside = None
        self.visits.append(number)

    def flow(self, number: int) -> Flow[None]:
        for _ in range(3):
            yield from plain(self.visit, number)
        yield from plain(self.leave, number)


async def test_one_flow_at_a_time(driver: Driver) -> None:
    room, calls = Room(), Calls(0.002)

    def one(number: int) -> Flow[int]:
        yield from calls.flow(number)
        yield from take_turn()
        yield from room.flow(number)
        yield from give_turn_back()
        yield from calls.flow(number)
        yield from take_turn()
        yield from room.flow(number)
        return number

    assert await drive(driver, gather([one(n) for n in range(8)]), 4) == list(range(8))
    assert sorted(room.visits) == sorted([*range(8), *range(8)])
    assert 1 < calls.most <= 4  # how many meet depends on the machine


async def test_the_first_to_ask_has_it_first(driver: Driver) -> None:
    room = Room()

    def one(number: int) -> Flow[None]:
        yield from take_turn()
        yield from room.flow(number)

    values_of(await drive(driver, gather([one(n) for n in range(6)]), 2))
    assert room.visits == list(range(6))


async def test_who_has_it_may_take_it_again(driver: Driver) -> None:
    gone, came = Gate(), Gate()

    def first() -> Flow[None]:
        yield from give_turn_back()  # which it has not
        yield from take_turn()
        yield from take_turn()
        yield from give_turn_back()
        gone.open()
        yield from waiting(Gate(), came)  # one give back is enough for the other to have it

    def second() -> Flow[None]:
        yield from waiting(Gate(), gone)
        yield from take_turn()
        came.open()

    values_of(await drive(driver, gather([first(), second()]), 2))


@pytest.mark.parametrize("how", ["ends", "fails", "operation fails", "counted fails"])
async def test_it_is_given_back_by_the_end_of_a_flow(driver: Driver, how: str) -> None:
    def fail() -> None:
        raise ValueError(how)

    def first() -> Flow[None]:
        yield from take_turn()
        if how == "fails":
            raise ValueError(how)
        if how == "operation fails":
            yield from plain(fail)
        if how == "counted fails":
            yield from counted(fail)

    def second() -> Flow[str]:
        yield from take_turn()
        return "had it"

    # The second one stands before the first, which is in a group of its own.
    def later() -> Flow[str]:
        yield from counted(lambda: None)
        return (yield from second())

    _, result = await drive(driver, gather([gather([first()]), later()]), 4)
    assert result == "had it"


async def test_who_waits_for_it_and_is_given_up_does_not_get_it(driver: Driver) -> None:
    failed = Gate()
    had: list[int] = []

    def fails() -> Flow[None]:
        yield from counted(lambda: None)
        failed.open()
        raise ValueError

    def holds() -> Flow[int]:
        yield from take_turn()
        yield from waiting(Gate(), failed)
        return 1

    def waits(number: int) -> Flow[int]:
        yield from take_turn()
        had.append(number)
        return number

    def earlier() -> Flow[int]:
        yield from counted(lambda: None)
        return (yield from waits(0))

    flows = [earlier(), fails(), holds(), waits(3), waits(4)]
    first, error, holder, *others = await drive(driver, gather(flows), 4)
    assert (first, holder, had) == (0, 1, [0])
    assert isinstance(error, ValueError)
    assert [type(other) for other in others] == [NotStartedError, NotStartedError]


async def test_it_cannot_be_taken_after_a_failure_before(driver: Driver) -> None:
    failed = Gate()

    def fails() -> Flow[None]:
        yield from counted(lambda: None)
        failed.open()
        raise ValueError

    def late() -> Flow[str]:
        yield from waiting(Gate(), failed)
        try:
            yield from take_turn()
        except NotStartedError:
            yield from plain(lambda: None)
            return "told so"
        return "had it"

    _, result = await drive(driver, gather([fails(), late()]), 4)
    assert result == "told so"


async def test_who_is_given_up_with_the_turn_gives_it_back(driver: Driver) -> None:
    """It has not begun anything counted, and is closed where it waits to."""
    begun = Gate()

    def fails() -> Flow[None]:
        yield from waiting(Gate(), begun)
        raise ValueError

    def holds() -> Flow[None]:
        yield from take_turn()
        begun.open()
        yield from counted(lambda: None)

    def outside() -> Flow[str]:
        yield from pause(0.05)
        yield from take_turn()
        return "had it"

    inner = gather([fails(), holds()])
    both: list[Flow[Any]] = [inner, outside()]
    (_, given_up), result = values_of(await drive(driver, gather(both), 1))
    assert isinstance(given_up, NotStartedError)
    assert result == "had it"


async def test_a_slow_write_does_not_keep_calls_from_beginning(driver: Driver) -> None:
    writing, called = Gate(), Gate()

    def writes() -> Flow[None]:
        yield from take_turn()
        yield from waiting(writing, called, "plain")

    def asks() -> Flow[int]:
        yield from waiting(Gate(), writing)
        yield from counted(called.open)
        return (yield from plain(lambda: 1))

    _, result = values_of(await drive(driver, gather([writes(), asks()]), 2))
    assert result == 1


async def test_a_slow_write_does_not_keep_a_call_from_being_tried_again(
    driver: Driver,
) -> None:
    """What waits to be tried again is not counted meanwhile."""
    called = Gate()

    def writes() -> Flow[None]:
        yield from take_turn()
        yield from waiting(Gate(), called, "plain")

    def asks() -> Flow[None]:
        yield from pause(0.01)
        yield from counted(called.open)

    values_of(await drive(driver, gather([writes(), asks()]), 2))


async def test_where_the_operations_of_a_turn_run(driver: Driver) -> None:
    """In the caller's thread, but beside something that is counted."""
    threads: dict[str, int] = {}
    begun, done = Gate(), Gate()

    def note(name: str) -> None:
        threads[name] = threading.get_ident()

    def writes() -> Flow[None]:
        yield from take_turn()
        yield from plain(note, "alone")
        yield from waiting(Gate(), begun)
        yield from plain(note, "beside")
        yield from here(note, "here")
        done.open()

    def asks() -> Flow[None]:
        yield from plain(note, "without the turn")
        yield from waiting(begun, done)
        yield from plain(note, "afterwards")

    def outer() -> Flow[None]:
        yield from take_turn()
        yield from plain(note, "before")
        yield from give_turn_back()
        values_of((yield from gather([writes(), asks()])))

    await drive(driver, outer(), 2)
    caller = threading.get_ident()
    others = {name for name, thread in threads.items() if thread != caller}
    assert others <= {"alone", "beside"}
    assert len(threads) == 6
    if driver.name == "sync":
        assert "beside" in others


@pytest.mark.parametrize("beside", [True, False])
async def test_what_a_write_raises_is_raised_in_its_flow(driver: Driver, beside: bool) -> None:
    caught = Gate()

    def fail() -> None:
        raise ValueError

    def writes() -> Flow[str]:
        yield from take_turn()
        try:
            yield from plain(fail)
        except ValueError:
            return (yield from plain(lambda: "handled"))
        finally:
            caught.open()
        return "not raised"

    def asks() -> Flow[None]:
        if beside:
            yield from waiting(Gate(), caught)

    assert (await drive(driver, gather([writes(), asks()]), 2))[0] == "handled"


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="none")


async def test_context_variables_reach_the_writes(driver: Driver) -> None:
    read = Gate()

    def get() -> str:
        read.open()
        return VARIABLE.get()

    def writes() -> Flow[str]:
        yield from take_turn()
        return (yield from plain(get))

    token = VARIABLE.set("ours")
    results = await drive(driver, gather([writes(), waiting(Gate(), read)]), 2)
    VARIABLE.reset(token)
    assert results[0] == "ours"


async def test_a_pause_lets_others_go_on(driver: Driver) -> None:
    done: list[str] = []

    def sleeper(name: str, seconds: float) -> Flow[None]:
        yield from pause(seconds)
        done.append(name)

    def worker() -> Flow[None]:
        for _ in range(3):
            yield from counted(time.sleep, 0.001)
        done.append("worker")

    flows = [sleeper("long", 0.3), sleeper("short", 0.15), worker(), sleeper("none", 0)]
    values_of(await drive(driver, gather(flows), 2))
    assert done[-2:] == ["short", "long"]
    assert set(done[:2]) == {"none", "worker"}


async def test_a_begun_flow_keeps_its_place_while_it_pauses(driver: Driver) -> None:
    """Who is told to wait is not replaced by others who will be told the same."""
    other = Gate()

    def tries_again() -> Flow[None]:
        yield from counted(lambda: None)
        yield from pause(0.05)
        assert not other.is_open, "its place was given away"
        yield from counted(lambda: None)

    def asks() -> Flow[None]:
        yield from counted(other.open)

    with no_deadlock():
        results = await drive(driver, gather([tries_again(), asks()]), 1)
    assert results == [None, None]


async def test_begun_is_begun_also_for_what_it_gathers(driver: Driver) -> None:
    """A flow that has called something goes on to its end, with all that it gathers."""
    begun, failed = Gate(), Gate()

    def fails() -> Flow[None]:
        yield from waiting(Gate(), begun)
        failed.open()
        raise ValueError

    def goes_on() -> Flow[list[Any]]:
        yield from waiting(begun, failed)
        return (yield from gather([counted(int) for _ in range(3)]))

    _, results = await drive(driver, gather([fails(), goes_on()]), 4)
    assert [type(one) for one in results] == [int, int, int]
