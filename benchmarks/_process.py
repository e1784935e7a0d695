"""Each side of a comparison in a process of its own, and what the processes say.

A module that measures has a table `SIDES` of functions by name, which take JSON values and
return a dict of them. `run_side` calls one in a fresh process:

    python -m benchmarks._process benchmarks.overhead ours '{"documents": 1000}'
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Side = Callable[..., dict[str, Any]]


def run_side(module: str, side: str, **options: Any) -> dict[str, Any]:
    """Call one side of a module in a fresh process.

    Args:
        module: Name of the module.
        side: Key of its `SIDES`.
        **options: JSON values, for the function.

    Returns:
        What the function returns.
    """
    command = [sys.executable, "-m", "benchmarks._process", module, side, json.dumps(options)]
    return run_json(command, f"{module} {side}")


def run_json(command: list[str], name: str) -> dict[str, Any]:
    """Run a command whose last line of output is JSON.

    Args:
        command: What to run.
        name: What to call it, where it fails.

    Returns:
        What the line says.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{name} ended with {done.returncode}:\n{done.stderr[-4000:]}"
        raise RuntimeError(message)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def in_turn(turns: int, sides: dict[str, Callable[[int], dict[str, Any]]]) -> Measured:
    """Measure several sides, one after the other, again and again.

    Each turn begins with another side, so that none is always the one after which the
    machine is warm.

    Args:
        turns: How often.
        sides: By name; each is called with the number of the turn.

    Returns:
        What they returned.
    """
    names = list(sides)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for turn in range(turns):
        first = turn % len(names)
        for name in [*names[first:], *names[:first]]:
            found[name].append(sides[name](turn))
    return Measured(found)


@dataclass(frozen=True, slots=True)
class Measured:
    """What several sides returned, turn by turn."""

    turns: dict[str, list[dict[str, Any]]]

    def median(self, side: str, figure: str) -> float:
        """Return the median of a figure over all turns."""
        return statistics.median(float(turn[figure]) for turn in self.turns[side])

    def ratio(self, side: str, to: str, figure: str) -> float:
        """Return the median over the turns of one side's figure to another's.

        Turn by turn, since what else the machine does slows all sides of a turn alike.
        """
        pairs = zip(self.turns[side], self.turns[to], strict=True)
        return statistics.median(float(a[figure] / b[figure]) for a, b in pairs)

    def last(self, side: str) -> dict[str, Any]:
        """Return what a side said in the last turn, for what is the same in all."""
        return self.turns[side][-1]


class Clock:
    """Wall and CPU seconds of a block."""

    wall = cpu = 0.0

    def figures(self) -> dict[str, float]:
        """Return both, for a side to say."""
        return {"wall": self.wall, "cpu": self.cpu}


@contextmanager
def clock() -> Iterator[Clock]:
    """Measure a block."""
    read = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    yield read
    read.wall, read.cpu = time.perf_counter() - wall, time.process_time() - cpu


class Stopwatch:
    """Adds up what calls of a method take.

    Args:
        owner: Whose method; it is replaced.
        method: Its name.
    """

    def __init__(self, owner: Any, method: str) -> None:
        self.seconds = 0.0
        timed = getattr(owner, method)

        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return timed(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        setattr(owner, method, call)


def peak_mb() -> float:
    """Return the largest resident memory that this process ever had, in MB.

    Not `ru_maxrss`, which begins at what the process had that started this one.
    """
    return _status("VmHWM")


def resident_mb() -> float:
    """Return the resident memory of this process, in MB."""
    return _status("VmRSS")


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(map(str, head)) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)


def main() -> None:
    module, side, options = sys.argv[1:]
    sides: dict[str, Side] = importlib.import_module(module).SIDES
    print("\n" + json.dumps(sides[side](**json.loads(options))))


if __name__ == "__main__":
    main()
