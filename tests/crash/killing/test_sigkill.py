"""A process is killed with SIGKILL at points of an import, a change and a deletion.

After each a new process makes the same call again, and everything must be as if nothing had
happened: nothing lost, doubled or orphaned, and no call of the model paid twice but those in
flight.
"""

from __future__ import annotations

import signal
from pathlib import Path
from pprint import pformat
from typing import TYPE_CHECKING

import pytest

from tests.crash.killing import judging
from tests.crash.killing.benches import Bench, FolderBench, PostgresBench
from tests.crash.killing.calls import PHASES
from tests.crash.killing.points import kind_of, spread
from tests.crash.killing.scenes import Scene

if TYPE_CHECKING:
    from tests.crash.killing.scenes import Rehearsal
    from tests.crash.killing.zygote import Zygote

SCENES = {
    "rag.index": ("sync", "async"),
    "index": ("sync",),
    "ids": ("async",),
}
"""Ways, and by which driver each is gone."""
PAIRS = [(way, driver) for way in SCENES for driver in SCENES[way]]


@pytest.fixture(params=["chroma", "postgres"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    if request.param == "chroma":
        return FolderBench(tmp_path)
    return PostgresBench(request.getfixturevalue("postgres_database"), tmp_path)


def strike(scene: Scene, phase: str, point: int, rehearsal: Rehearsal) -> list[str]:
    """Kill a process at a point, make the call again, and say what is wrong."""
    scene.load(phase)
    killed = scene.call(phase, strike_at=point)
    between = scene.look()
    # How many statements there are depends a little on which calls meet: the last may not come.
    is_last = point > 0.95 * len(rehearsal.labels)
    if is_last and killed.error is None and killed.killed is None:
        return [*judging.afterwards(between, rehearsal.after), *scene.verify()]
    if killed.killed != signal.SIGKILL:
        return [f"the process was not killed: {killed}"]
    return [
        *judging.at_once(rehearsal.before, between, rehearsal.after),
        *scene.made_again(phase, rehearsal, between),
    ]


def test_killed_in_an_import_the_same_call_again_leaves_no_trace(
    zygote: Zygote, tmp_path: Path
) -> None:
    """Two points of what follows, for every day."""
    scene = Scene(zygote, FolderBench(tmp_path), "ids", "async")
    rehearsal = scene.rehearse("import")["import"]
    for third in (1, 2):
        assert strike(scene, "import", third * len(rehearsal.labels) // 3, rehearsal) == []


@pytest.mark.full
@pytest.mark.parametrize(("way", "driver_name"), PAIRS)
def test_killed_anywhere_the_same_call_again_leaves_no_trace(
    zygote: Zygote, bench: Bench, way: str, driver_name: str, kill_points: int
) -> None:
    scene = Scene(zygote, bench, way, driver_name)
    number = -(-kill_points // (len(PAIRS) * len(PHASES)))
    # The drivers of a way share its kinds of operation between them; where there are few
    # points, the two ways to index, whose kinds are the same, do so as well.
    ways = {"rag.index", "index"} if number < 10 and way != "ids" else {way}
    sharing = [pair for pair in PAIRS if pair[0] in ways]
    share = sharing.index((way, driver_name))
    problems: dict[str, list[str]] = {}
    for phase, rehearsal in scene.rehearse().items():
        labels = rehearsal.labels
        chosen = spread(labels, number, share=share, shares=len(sharing))
        kinds = sorted({kind_of(label) for label in labels})[share :: len(sharing)]
        assert len(chosen) >= number
        assert {kind_of(labels[point - 1]) for point in chosen} >= set(kinds)
        for point in chosen:
            if found := strike(scene, phase, point, rehearsal):
                problems[f"{phase} {point}/{len(labels)}, {labels[point - 1]}"] = found
    assert not problems, pformat(problems)
