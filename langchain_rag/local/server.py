"""A llama.cpp server in a process of its own, which can be stopped at any moment."""

from __future__ import annotations

import json
import os
import queue
import secrets
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Final

from langchain_rag.errors import ConfigurationError

__all__ = ["LlamaServer"]

START_TIMEOUT_S: Final = 60


class LlamaServer:
    """Serves a GGUF model on a free loopback port, behind a random API key.

    It is a process of its own, so that stopping it ends all calls in flight at once, and
    nothing that it logs or crashes on reaches the caller.

    Args:
        model: Path of the weights.
        n_parallel: Number of slots, which is the number of calls answered at a time.
        n_ctx: Tokens of prompt and answer together, in each slot.

    Attributes:
        address: Base URL of the server.
        api_key: What it asks for.

    Raises:
        ConfigurationError: It did not start.
    """

    def __init__(self, model: Path, *, n_parallel: int, n_ctx: int) -> None:
        self.api_key = secrets.token_hex(16)
        # The threads of llama.cpp meet several hundred times for each token. Spinning
        # there, which is the default, makes it 10 times slower on a machine that is busy.
        environment = {"OMP_WAIT_POLICY": "passive"} | os.environ
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            # As a file, so that it need not import this package; -P, so that the files
            # beside it do not stand in for modules of the same name.
            [sys.executable, "-P", str(Path(__file__).with_name("_serve.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops it
        )
        config = {
            "model": str(model),
            "api_key": self.api_key,
            "n_parallel": n_parallel,
            "n_ctx": n_ctx,
            "n_threads": max(1, min(8, os.cpu_count() or 1)),
        }
        try:
            self.address = self._start(json.dumps(config))
        except BaseException:
            self.stop()
            raise

    def _start(self, config: str) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - both are pipes
        assert stdout is not None  # noqa: S101
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        reader = threading.Thread(target=_read_line, args=(stdout, lines), daemon=True)
        reader.start()
        try:
            stdin.write(config + "\n")
            stdin.flush()
            line = lines.get(timeout=START_TIMEOUT_S)
        except BrokenPipeError:
            line = ""
        except queue.Empty:
            line = json.dumps({"error": f"no answer within {START_TIMEOUT_S} s"})
        answer = json.loads(line or '{"error": "its process died"}')
        if "address" not in answer:
            msg = (
                f"The local model server did not start ({answer['error']}). llama.cpp needs"
                " the system library libgomp (Debian: apt-get install libgomp1)."
            )
            raise ConfigurationError(msg)
        return str(answer["address"])

    def stop(self) -> None:
        """End the process. Calls in flight fail at once; calling this again is harmless."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue  # what was buffered for a process that died


def _read_line(stdout: IO[str], lines: queue.SimpleQueue[str]) -> None:
    try:
        lines.put(stdout.readline())
    except ValueError:  # closed by stop()
        lines.put("")
