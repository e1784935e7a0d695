"""The disk gets full in the middle of an import, and then there is room again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.crash.killing import judging
from tests.crash.killing.benches import FolderBench, OnceBench
from tests.crash.killing.disks import ROOMY, LimitedFiles, MountedDisk, disk
from tests.crash.killing.scenes import Rehearsal, Scene
from tests.crash.killing.sites import Place

if TYPE_CHECKING:
    from tests.crash.killing.zygote import Outcome, Zygote

pytestmark = pytest.mark.full

NOTE = "While writing the documents "


@pytest.fixture(scope="module", params=["sync", "async"])
def driver_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def rehearsal(
    zygote: Zygote, tmp_path_factory: pytest.TempPathFactory, driver_name: str
) -> tuple[Rehearsal, Path]:
    """What the import does where there is room, and where it did it."""
    folder = tmp_path_factory.mktemp("roomy")
    scene = Scene(zygote, FolderBench(folder), "ids", driver_name)
    return scene.rehearse("import")["import"], folder / "now"


def place_on(disk: MountedDisk | LimitedFiles, elsewhere: Path, full: str) -> Place:
    """Put the docstore, the vectors or both on the disk."""
    docs = disk.folder if full in {"docstore", "both"} else elsewhere
    vectors = disk.folder if full in {"vectors", "both"} else elsewhere
    return Place("chroma", str(docs), vectors=str(vectors / "chroma"))


@pytest.mark.parametrize("part", [0.3, 0.8])
@pytest.mark.parametrize(
    ("full", "mount", "same_process"),
    [
        ("docstore", True, False),
        ("docstore", True, True),
        # Not in the same process: once its disk was full, Chroma 1.5 may never return from a
        # call again, whoever makes it. (Its compaction failed; seen without langchain-rag.)
        ("vectors", True, False),
        ("both", True, False),
        ("both", False, False),
    ],
    ids=["docstore", "docstore in one process", "vectors", "both", "both by size of files"],
)
def test_the_same_call_again_once_there_is_room_leaves_no_trace(
    zygote: Zygote,
    rehearsal: tuple[Rehearsal, Path],
    tmp_path: Path,
    driver_name: str,
    full: str,
    mount: bool,
    part: float,
    same_process: bool,
) -> None:
    rehearsed, roomy = rehearsal
    with disk(tmp_path / "disk", mount=mount) as small:
        place = place_on(small, tmp_path, full)
        scene = Scene(zygote, OnceBench(place), "ids", driver_name)
        assert scene.verify() == []  # which creates all files
        scene.bench.settle()
        measured = {"docstore": roomy, "vectors": roomy / "chroma", "both": roomy}[full]
        least = small.used(small.folder)
        most = small.used(measured)
        if full == "docstore":
            most -= small.used(roomy / "chroma") if mount else 0
        small.resize(least + int(part * (most - least)))

        hung = ""
        if same_process:
            error = repaired_while_it_waits(scene, small, tmp_path / "go")
        else:
            stacks = tmp_path / "stacks"
            error = scene.call("import", stacks=str(stacks), **small.options).error
            small.resize(ROOMY)
            hung = stacks.read_text()
        assert error is not None, "there was room for everything"
        if hung:
            # Chroma does that; the user kills the process, and has lost nothing by it.
            assert full != "docstore"
            assert "chromadb/api/rust.py" in hung
        else:
            assert NOTE in error
            assert "'page-" in error.partition(NOTE)[2]
        between = scene.look()
        if same_process:
            problems = judging.afterwards(between, rehearsed.after) + scene.verify()
        else:
            problems = judging.at_once(rehearsed.before, between, rehearsed.after)
            problems += scene.made_again("import", rehearsed, between, died=False)
        if full != "vectors":
            # Answers are kept beside the docstore, where there was no room for them: then
            # those of the whole batch are lost, which is looked after as well.
            problems = [one for one in problems if judging.TOO_MANY not in one]
        assert problems == []


def repaired_while_it_waits(
    scene: Scene, small: MountedDisk | LimitedFiles, go: Path
) -> str | None:
    """Let a process fail, make room, and let it make the call again; return its failure."""
    pid = scene.start("import", again=str(go), **small.options)
    failed = go.with_suffix(".failed")
    deadline = time.monotonic() + 30
    while not failed.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    small.resize(ROOMY)
    go.touch()
    outcome: Outcome = scene.zygote.wait(pid)
    outcome.value()
    return failed.read_text() if failed.exists() else None
