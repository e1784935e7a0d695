"""PostgreSQL itself goes down in the middle of an import, and comes back."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import postgres
from tests.crash.killing import judging
from tests.crash.killing.benches import PostgresBench
from tests.crash.killing.points import spread
from tests.crash.killing.scenes import Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crash.killing.zygote import Zygote

pytestmark = pytest.mark.full

# As `pg_ctl stop -m immediate` does, and as the kernel does when memory is short.
CRASHES = (signal.SIGQUIT, signal.SIGKILL)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.server() as server:
        yield server


def restart(server: postgres.Server) -> None:
    """Start the server again, once the last process of the one that crashed is gone."""
    deadline = time.monotonic() + 30
    while True:
        try:
            server.start()
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


@pytest.mark.parametrize(("way", "driver_name"), [("index", "async"), ("ids", "sync")])
def test_stopped_anywhere_the_same_call_again_leaves_no_trace(
    zygote: Zygote,
    server: postgres.Server,
    tmp_path: Path,
    way: str,
    driver_name: str,
    kill_points: int,
) -> None:
    problems: dict[str, list[str]] = {}
    with postgres.new_database(server.url()) as url:
        scene = Scene(zygote, PostgresBench(postgres.text_of(url), tmp_path), way, driver_name)
        rehearsal = scene.rehearse("import")["import"]
        labels = rehearsal.labels
        points = spread(labels, max(4, kill_points // 15), share=0, shares=len(labels))
        for number, point in enumerate(points):
            scene.load("import")
            how = CRASHES[number % len(CRASHES)]
            order = {"pid": server._server.get_pid(), "signal": int(how)}
            stopped = scene.call("import", strike_at=point, strike=order)
            restart(server)
            between = scene.look()
            found = judging.at_once(rehearsal.before, between, rehearsal.after)
            if stopped.error is None:
                # Only giving back the claim was left to do, and that it lapsed is no failure.
                found += judging.afterwards(between, rehearsal.after)
            again = scene.made_again("import", rehearsal, between, died=False)
            # Answers are kept in the database that was gone: those are lost that came while
            # the call did not know it yet.
            found += [one for one in again if judging.TOO_MANY not in one]
            if found:
                problems[f"{how.name} {point}/{len(labels)}, {labels[point - 1]}"] = found
    assert problems == {}
