"""What `import langchain_rag` costs over `import langchain_core.vectorstores`.

Both load what they export when it is first used, so the bare imports say little of what a user
waits for: the second pair imports the class that one uses.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from benchmarks._options import Options
from benchmarks._process import table

RUNS = 15
PAIRS = (
    ("import langchain_rag", "import langchain_core.vectorstores"),
    (
        "from langchain_rag import RAGVectorStore",
        "from langchain_core.vectorstores import InMemoryVectorStore",
    ),
)
_SCRIPT = """
import time, sys, json
start = time.perf_counter()
cpu = time.process_time()
{statement}
cpu, seconds = time.process_time() - cpu, time.perf_counter() - start
print(json.dumps([seconds, cpu, len(sys.modules)]))
"""


def report(options: Options) -> None:
    """Print the ratios of medians, fresh processes in turn."""
    del options
    print(f"## Cost of the import, {RUNS} processes each\n")
    rows = []
    for ours, plain in PAIRS:
        rows += _rows(ours, plain)
    table(("", "against", "time", "CPU", "", "modules"), rows)


def _rows(ours: str, plain: str) -> list[tuple[object, ...]]:
    sides = {"ours": ours, "plain": plain, "again": plain}
    found: dict[str, list[list[float]]] = {name: [] for name in sides}
    for turn in range(RUNS + 1):
        names = list(sides)
        for name in names[turn % 3 :] + names[: turn % 3]:
            script = _SCRIPT.format(statement=sides[name])
            command = [sys.executable, "-c", script]
            done = subprocess.run(command, capture_output=True, check=True)
            if turn:  # the first one reads files that are not in memory yet
                found[name].append(json.loads(done.stdout))
    medians = {
        name: [statistics.median(column) for column in zip(*turns, strict=True)]
        for name, turns in found.items()
    }
    wall, cpu, modules = medians["plain"]
    return [
        (
            f"`{ours}`" if name == "ours" else "the same again, the noise",
            f"`{plain}`",
            f"{medians[name][0] / wall:.2f}",
            f"{medians[name][1] / cpu:.2f}",
            f"{medians[name][0] * 1e3:.0f} ms / {wall * 1e3:.0f} ms",
            f"{medians[name][2]:.0f} / {modules:.0f}",
        )
        for name in ("ours", "again")
    ]
