import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from langchain_rag import __version__
from langchain_rag.cli import QUERY, demo, main
from langchain_rag.errors import ConfigurationError


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `demo.run` was called with."""
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(demo, "run", lambda **arguments: made.append(arguments))
    return made


def test_defaults(calls: list[dict[str, Any]]) -> None:
    assert main(["demo"]) == 0
    assert calls == [
        {
            "path": Path("langchain-rag-demo"),
            "query": QUERY,
            "k": 4,
            "llm": None,
            "embeddings": None,
            "no_llm": False,
        }
    ]


def test_arguments(calls: list[dict[str, Any]]) -> None:
    argv = ["demo", "--path", "x", "--query", "Why?", "-k", "2"]

    assert main([*argv, "--llm", "openai:a", "--embeddings", "openai:b"]) == 0
    assert main([*argv, "--no-llm"]) == 0
    assert calls == [
        {
            "path": Path("x"),
            "query": "Why?",
            "k": 2,
            "llm": "openai:a",
            "embeddings": "openai:b",
            "no_llm": False,
        },
        {
            "path": Path("x"),
            "query": "Why?",
            "k": 2,
            "llm": None,
            "embeddings": None,
            "no_llm": True,
        },
    ]


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["sing"],
        ["demo", "-k", "0"],
        ["demo", "-k", "x"],
        ["demo", "--no-llm", "--llm", "a"],
    ],
)
def test_what_cannot_be_meant_is_refused(argv: list[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(argv)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])

    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted. What was imported is kept"),
        (ConfigurationError("no such model"), 1, "no such model"),
        (ModuleNotFoundError("No", name="rich.table"), 1, 'pip install "langchain-rag[cli]"'),
        (ModuleNotFoundError("No", name="langchain"), 1, 'pip install "langchain-rag[cli]"'),
    ],
)
def test_failures_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    said: str,
) -> None:
    def fail(**arguments: Any) -> None:
        raise error

    monkeypatch.setattr(demo, "run", fail)

    assert main(["demo"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.startswith("langchain-rag: ")
    assert captured.err.count("\n") == 1


def test_a_package_of_somebody_else_that_is_missing_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**arguments: Any) -> None:
        raise ModuleNotFoundError("No", name="numpy")

    monkeypatch.setattr(demo, "run", fail)

    with pytest.raises(ModuleNotFoundError):
        main(["demo"])


def test_without_rich_the_remedy_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    for name in ("demo", "report"):
        monkeypatch.delitem(sys.modules, f"langchain_rag.cli.{name}", raising=False)

    assert main(["demo", "--path", str(tmp_path)]) == 1
    assert 'pip install "langchain-rag[cli]"' in capsys.readouterr().err


def test_as_a_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["langchain-rag", "--version"])

    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("langchain_rag.cli", run_name="__main__")

    assert capsys.readouterr().out.strip() == __version__
