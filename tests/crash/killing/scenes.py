"""The three calls of one way and one driver, on a bench, interrupted or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.crash.killing import judging
from tests.crash.killing.benches import EMPTY
from tests.crash.killing.calls import PHASES
from tests.crash.killing.corpus import calls_in, embedded_in

if TYPE_CHECKING:
    from tests.crash.killing.benches import Bench
    from tests.crash.killing.zygote import Outcome, Zygote


@dataclass
class Rehearsal:
    """What a phase does when nothing interrupts it.

    Attributes:
        labels: Of all its points.
        before: What was there before.
        after: What was there afterwards.
    """

    labels: list[str]
    before: judging.Seen
    after: judging.Seen


class Scene:
    """Runs the phases.

    Args:
        zygote: Starts the processes.
        bench: Where everything is.
        way: See `calls.make`.
        driver: `"sync"` or `"async"`.
    """

    def __init__(self, zygote: Zygote, bench: Bench, way: str, driver: str) -> None:
        self.zygote = zygote
        self.bench = bench
        self.driver = driver
        self._call: dict[str, Any] = {"way": way, "driver": driver}

    def start(self, phase: str, **options: Any) -> int:
        """Start a process that makes the call of a phase."""
        place = self.bench.place.as_json()
        return self.zygote.start("call", place=place, phase=phase, **self._call, **options)

    def call(self, phase: str, **options: Any) -> Outcome:
        """Make the call of a phase in a new process."""
        return self.zygote.wait(self.start(phase, **options))

    def look(self) -> judging.Seen:
        """Read everything, with what models were asked since `load`."""
        self.bench.settle()
        place = self.bench.place.as_json()
        seen: judging.Seen = self.zygote.run("look", place=place).value()
        log = self.bench.place.log
        return {**seen, "asked": calls_in(log), "embedded": embedded_in(log)}

    def verify(self) -> list[str]:
        """Let the store judge itself, in a new process."""
        place = self.bench.place.as_json()
        verdict = self.zygote.run("verify", place=place, driver=self.driver).value()
        return [] if verdict["clean"] else [f"verify: {verdict['report']}"]

    def load(self, phase: str) -> None:
        """Go back to before a phase."""
        index = PHASES.index(phase)
        self.bench.load(PHASES[index - 1] if index else EMPTY)

    def rehearse(self, *phases: str) -> dict[str, Rehearsal]:
        """Go through the phases without an interruption, and remember what is there.

        Args:
            *phases: Up to which; all by default.
        """
        found: dict[str, Rehearsal] = {}
        for phase in phases or PHASES:
            self.load(phase)
            before = self.look()
            labels = self.call(phase).value()["labels"]
            after = self.look()
            assert after["settled"] == []
            assert self.verify() == []
            found[phase] = Rehearsal(labels, before, after)
            self.bench.save(phase)
        return found

    def made_again(
        self,
        phase: str,
        rehearsal: Rehearsal,
        between: judging.Seen,
        *,
        died: bool = True,
    ) -> list[str]:
        """Make an interrupted call again in a new process, and say what is wrong then.

        Args:
            phase: The call.
            rehearsal: Of the phase.
            between: What the interrupted call has left.
            died: Whether its process died at once, and did not see anything fail.
        """
        again = self.call(phase)
        if again.error is not None:
            return [again.error]
        now = self.look()
        first = between["asked"]
        embedded = between["embedded"]
        return [
            *judging.afterwards(now, rehearsal.after, between),
            *judging.payments(
                phase, first, now["asked"][len(first) :], between, rehearsal.after
            ),
            *judging.embeddings(
                phase,
                embedded,
                now["embedded"][len(embedded) :],
                between,
                rehearsal.after,
                died=died,
            ),
            *self.verify(),
        ]
