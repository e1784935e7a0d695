"""Four processes write, change and delete the same documents at the same time.

One of them is killed now and then, and another takes its place. In the end every document is
one whole version: one that a call wrote last.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.crash.killing import writers
from tests.crash.killing.benches import EMPTY, PostgresBench
from tests.crash.killing.sites import Place

if TYPE_CHECKING:
    from tests.crash.killing.zygote import Zygote

pytestmark = pytest.mark.full

PROCESSES = 4
DRIVERS = ("sync", "async")


@dataclass
class Write:
    """A call that wrote a version of a document, or may have.

    Attributes:
        version: None for a deletion.
        start: When it began, in the time of the database.
        end: When it returned, or when its process was certainly dead.
        returned: Whether it returned.
    """

    version: str | None
    start: float
    end: float
    returned: bool


class Crowd:
    """Processes that write, one of which dies from time to time."""

    def __init__(self, zygote: Zygote, place: Place, folder: Path, seconds: float) -> None:
        self.zygote = zygote
        self.place = place
        self.folder = folder
        self.deadline = time.monotonic() + seconds
        self.names: dict[int, str] = {}
        self.died: dict[str, float] = {}
        self.counts: dict[str, Any] = {}

    def start(self) -> None:
        number = len(self.names)
        name = f"w{number}"
        pid = self.zygote.start(
            "write_for",
            place=self.place.as_json(),
            driver=DRIVERS[number % 2],
            name=name,
            seconds=max(0.5, self.deadline - time.monotonic()),
            seed=number,
            log=str(self.folder / f"{name}.jsonl"),
        )
        self.names[pid] = name

    def run(self) -> None:
        with writers.connect(self.place.url) as clock:
            self._run(clock)

    def _run(self, clock: Any) -> None:
        choices = random.Random(0)
        for _ in range(PROCESSES):
            self.start()
        alive = list(self.names)
        while time.monotonic() < self.deadline - 2:
            time.sleep(choices.uniform(0.7, 1.5))
            pid = alive.pop(choices.randrange(len(alive)))
            os.kill(pid, signal.SIGKILL)
            ended = self.zygote.wait(pid)
            assert ended.killed == signal.SIGKILL, ended.error
            # Its last statement may still run on the server for a moment.
            time.sleep(0.05)
            self.died[self.names[pid]] = writers.now(clock)
            self.start()
            alive.append(list(self.names)[-1])
        for pid in alive:
            self.counts[self.names[pid]] = self.zygote.wait(pid).value()

    def writes(self) -> dict[str, list[Write]]:
        """Return what was written of each document, from the logs of all processes."""
        found: dict[str, list[Write]] = defaultdict(list)
        for name in self.names.values():
            path = self.folder / f"{name}.jsonl"
            lines = path.read_text().splitlines() if path.exists() else []
            began: dict[str, Any] = {}
            for line in lines:
                entry = json.loads(line)
                if entry["event"] == "begin":
                    began[entry["call"]] = entry
                    continue
                start = began.pop(entry["call"])
                if entry["event"] == "end":
                    note(found, start, entry["time"], returned=True)
                else:
                    # Refused before anything was written; a lost claim says otherwise.
                    assert "Nothing of this batch was written" in entry["error"]
            for start in began.values():
                note(found, start, self.died[name], returned=False)
        return found


def note(
    found: dict[str, list[Write]], start: dict[str, Any], end: float, *, returned: bool
) -> None:
    for document_id in start["ids"]:
        write = Write(start["version"], start["time"], end, returned)
        found[document_id].append(write)


def last(writes: list[Write]) -> set[str | None]:
    """Return the versions that may be the last one: no call that returned began after it."""
    latest = max((write.start for write in writes if write.returned), default=0.0)
    allowed: set[str | None] = {write.version for write in writes if write.end >= latest}
    # Nothing is there as long as no call has returned.
    return allowed | ({None} if latest == 0.0 else set())


def versions_in(found: list[list[str]]) -> dict[str, dict[str, set[tuple[str, str]]]]:
    """Return chunks and variations of each document by version."""
    by_document: dict[str, dict[str, set[tuple[str, str]]]] = defaultdict(
        lambda: defaultdict(set)
    )
    for document_id, chunk, variation in found:
        version = chunk[1 : chunk.index(")")]
        by_document[document_id][version].add((chunk, variation))
    return by_document


@pytest.mark.parametrize("kind", ["postgres", "mixed"])
def test_every_document_is_its_last_whole_version(
    zygote: Zygote, postgres_database: str, tmp_path: Path, kind: str, write_seconds: float
) -> None:
    bench = PostgresBench(postgres_database, tmp_path / "files")
    bench.load(EMPTY)
    place = Place(
        kind, str(tmp_path / "files"), url=postgres_database, schema=bench.place.schema
    )
    seconds = write_seconds if kind == "postgres" else write_seconds / 2
    crowd = Crowd(zygote, place, tmp_path, seconds)
    crowd.run()
    bench.settle()

    # The next call, whatever it is about, clears what the dead have left.
    verdict = zygote.run("settle", place=place.as_json()).value()
    assert verdict["clean"], verdict["report"]
    seen = zygote.run("look", place=place.as_json()).value()
    assert seen["settled"] == []
    assert seen["claims"] == []

    writes = crowd.writes()
    stored = versions_in(seen["found"])
    problems: dict[str, Any] = {}
    for document_id in writes.keys() | stored.keys():
        versions = stored.get(document_id, {})
        if len(versions) > 1:
            problems[document_id] = f"mixed: {sorted(versions)}"
            continue
        version = next(iter(versions), None)
        if version not in last(writes[document_id]):
            problems[document_id] = f"{version} of {last(writes[document_id])}"
        elif version is not None:
            whole = writers.whole(int(document_id), version)
            if versions[version] != whole:
                problems[document_id] = f"{version} is not whole: {versions[version]}"
    assert problems == {}
    assert sum(count["done"] for count in crowd.counts.values()) > 0
    assert len(crowd.died) >= 1
