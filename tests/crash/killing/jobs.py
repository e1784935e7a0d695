"""What a child process does. Arguments and results are JSON."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import resource
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_rag.testing import DRIVERS
from tests.crash.killing import calls, looking, writers
from tests.crash.killing.points import Points, die
from tests.crash.killing.sites import Place, open_site

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from langchain_rag.testing import Driver


HUNG = 20
"""Seconds without a point after which a call that may hang is given up."""


class WatchedPoints(Points):
    """Points that end the process when no further one is reached.

    Args:
        stacks: Where to write what all threads are doing then.
    """

    def __init__(self, stacks: Path) -> None:
        super().__init__()
        self._stacks = stacks.open("w")  # as long as the process
        self._watch()

    def reach(self, label: str) -> None:
        """Count a point, and wait for the next one."""
        super().reach(label)
        self._watch()

    def _watch(self) -> None:
        faulthandler.dump_traceback_later(HUNG, file=self._stacks, exit=True)


def driver_of(name: str) -> Driver:
    """Return the driver of a name."""
    return next(driver for driver in DRIVERS if driver.name == name)


def drive(work: Coroutine[Any, Any, Any], driver: str) -> Any:
    """Run a coroutine: without an event loop where all in it is sync."""
    if driver == "async":
        return asyncio.run(work)
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    msg = "a sync driver awaited something"
    raise AssertionError(msg)


def call(
    place: dict[str, str], driver: str, way: str, phase: str, **options: Any
) -> dict[str, Any]:
    """Make a call, and perhaps be killed in it.

    Args:
        place: Which stores.
        driver: Sync or async.
        way: See `calls.make`.
        phase: See `calls.make`.
        **options: `strike_at`, a point; `strike`, what to do there other than to die;
            `max_file`, bytes that no file may exceed; `again`, a file that says
            when to make a call again that failed; `stacks`, a file for what all threads are
            doing if the call does not return.

    Returns:
        The labels of all points.
    """
    if "stacks" in options:
        points: Points = WatchedPoints(Path(options["stacks"]))
    else:
        points = Points(options.get("strike_at"), _strike(options.get("strike")))
    _limit_files(options.get("max_file"))

    async def work() -> None:
        site = await open_site(Place(**place), driver, points)
        try:
            await calls.make(site, driver_of(driver), way, phase)
        except Exception:
            if "again" not in options:
                raise
            _wait_for_repair(Path(options["again"]))
            await calls.make(site, driver_of(driver), way, phase)

    drive(work(), driver)
    return {"labels": points.labels}


def look(place: dict[str, str]) -> dict[str, Any]:
    """Read the stores; see `looking.look`."""
    return looking.look(Place(**place))


def verify(place: dict[str, str], driver: str) -> Any:
    """Let a store judge itself."""

    async def work() -> Any:
        site = await open_site(Place(**place), driver, Points())
        report = await driver_of(driver)(site.rag, "verify")
        return {"clean": report.ok and not report.busy, "report": str(report)}

    return drive(work(), driver)


def settle(place: dict[str, str]) -> Any:
    """Make a call that is about nothing in particular, and let the store judge itself."""

    async def work() -> Any:
        made = writers.transformers()
        site = await open_site(Place(**place), "sync", Points(), chunk_transformers=made)
        site.rag.delete(["unknown"])
        report = site.rag.verify()
        return {"clean": report.ok and not report.busy, "report": str(report)}

    return drive(work(), "sync")


def write_for(place: dict[str, str], driver: str, **options: Any) -> Any:
    """Write documents for a while; see `writers.write_for`."""
    return drive(writers.write_for(Place(**place), driver_of(driver), **options), driver)


def _strike(order: dict[str, Any] | None) -> Callable[[], None]:
    """Return what to do at the point: by default to die."""
    if order is None:
        return die

    def strike_others() -> None:
        os.kill(order["pid"], order["signal"])
        deadline = time.monotonic() + 30
        while _alive(order["pid"]):
            if time.monotonic() > deadline:
                msg = f"process {order['pid']} is still there"
                raise TimeoutError(msg)
            time.sleep(0.01)

    return strike_others


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _limit_files(size: int | None) -> None:
    """Let the disk seem full to a file that has grown to a size; None for no limit."""
    # Python ignores the signal that comes with it, so that a write fails.
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    soft = resource.RLIM_INFINITY if size is None else size
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _wait_for_repair(file: Path) -> None:
    """Say that and why a call failed, and wait until somebody has done something about it."""
    file.with_suffix(".failed").write_text(traceback.format_exc())
    deadline = time.monotonic() + 60
    while not file.exists():
        if time.monotonic() > deadline:
            msg = "nobody repaired it"
            raise TimeoutError(msg)
        time.sleep(0.01)
    _limit_files(None)


JOBS = {
    "call": call,
    "look": look,
    "settle": settle,
    "verify": verify,
    "write_for": write_for,
}
