"""A process that has imported everything and opened nothing, and forks for each job.

To import Chroma takes two seconds; to fork, milliseconds. A fork is a new process for all
that the stores can tell, and can be killed like one. The zygote has one thread, and never
opens a store, an engine or a client.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

_ROOT = Path(__file__).parents[3]

PATIENCE = 120
"""Seconds that a process may take; the longest of them writes for one minute."""

LAZY = (
    "aiosqlite",
    "asyncio",
    "chromadb.api.rust",
    "chromadb.telemetry.product.posthog",
    "filelock",
    "langchain_rag.audit.verify",
    "langchain_rag.storage.record_manager",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
)
"""What is imported only when a store is opened: it would cost every child its time."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Attributes:
        killed: By which signal, None where it returned or raised.
        result: What it returned.
        error: The traceback of what it raised, notes included.
    """

    killed: int | None
    result: Any = None
    error: str | None = None

    def value(self) -> Any:
        """Return the result of a job that must not have failed."""
        assert self.killed is None, f"the process died of signal {self.killed}"
        assert self.error is None, self.error
        return self.result


class Zygote:
    """Starts processes, from a process of its own."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="zygote-")
        # One thread: a pool of BLAS would not survive a fork.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.killing.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            cwd=_ROOT,
        )
        self._number = 0
        self._results: dict[int, Path] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self._folder.cleanup()

    def start(self, job: str, **arguments: Any) -> int:
        """Start a job in a new process.

        Args:
            job: One of `jobs.JOBS`.
            **arguments: Its arguments.

        Returns:
            The process id, for `wait`. Until then it can be killed.
        """
        self._number += 1
        result = Path(self._folder.name, str(self._number))
        order = {"job": job, "arguments": arguments, "result": str(result)}
        pid: int = self._ask({"start": order})["pid"]
        self._results[pid] = result
        return pid

    def wait(self, pid: int) -> Outcome:
        """Wait for the end of a process.

        Args:
            pid: What `start` returned.
        """
        answer = self._ask({"wait": pid})
        path = self._results.pop(pid)
        if "hung" in answer:
            return Outcome(None, error=f"the process did not end within {PATIENCE} s")
        status = answer["status"]
        if os.WIFSIGNALED(status):
            return Outcome(os.WTERMSIG(status))
        if not path.exists():
            return Outcome(None, error=f"the process gave up, with code {status >> 8}")
        outcome = json.loads(path.read_text())
        path.unlink()
        return Outcome(None, outcome.get("result"), outcome.get("error"))

    def run(self, job: str, **arguments: Any) -> Outcome:
        """Start a job and wait for its end.

        Args:
            job: One of `jobs.JOBS`.
            **arguments: Its arguments.
        """
        return self.wait(self.start(job, **arguments))

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def serve() -> None:
    """Fork and wait as told on standard input, until that ends."""
    from tests.crash.killing import jobs

    for name in LAZY:
        import_module(name)

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a child prints is no answer
    tasks = Path("/proc/self/task")  # of Linux
    assert not tasks.exists() or len(list(tasks.iterdir())) == 1, "threads do not fork"
    for line in sys.stdin:
        question = json.loads(line)
        if "start" in question:
            pid = os.fork()
            if pid == 0:
                _child(jobs.JOBS, question["start"])
            answer = {"pid": pid}
        else:
            answer = _wait(question["wait"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _wait(pid: int) -> dict[str, Any]:
    """Wait for a child, and end one that does not end."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return {"status": status}
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return {"hung": True}
        time.sleep(0.002)


def _child(jobs: dict[str, Any], order: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        outcome = {"result": jobs[order["job"]](**order["arguments"])}
    except BaseException:
        outcome = {"error": traceback.format_exc()}
    Path(order["result"]).write_text(json.dumps(outcome))
    # Not sys.exit: neither the zygote's buffers nor its handlers are the child's to run.
    os._exit(0)


if __name__ == "__main__":
    serve()
