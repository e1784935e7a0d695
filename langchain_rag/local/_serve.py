"""The process that serves a GGUF model on loopback; `server.py` starts this file.

Its first line of input is the configuration in JSON, its first line of output the address or
the error in JSON. It ends when its input does, so that it never outlives its parent.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any


def serve(config: dict[str, Any]) -> Any:
    """Start the server.

    Args:
        config: `model` (path), `api_key`, `n_parallel`, `n_ctx` (of each slot), `n_threads`.

    Returns:
        The `xllamacpp.Server`, which runs in threads of its own.
    """
    xllamacpp: Any = import_module("xllamacpp")  # has no types
    params = xllamacpp.CommonParams()
    params.model.path = config["model"]
    params.api_keys = [config["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.n_parallel = config["n_parallel"]
    params.n_ctx = config["n_ctx"] * config["n_parallel"]
    params.cpuparams.n_threads = config["n_threads"]
    params.cpuparams_batch.n_threads = config["n_threads"]
    params.cache_ram_mib = 512
    params.n_gpu_layers = 0
    params.verbosity = 0
    params.warmup = False
    params.ui = False
    params.endpoint_slots = False
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until the input ends."""
    try:
        server = serve(json.loads(sys.stdin.readline()))
        answer = {"address": server.listening_address}
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent reports it
        answer = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    # The server's own shutdown waits for calls whose clients are gone.
    os._exit(0)


if __name__ == "__main__":
    main()
