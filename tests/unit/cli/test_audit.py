"""`langchain-rag verify`, `repair` and `stats`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from langchain_rag.cli import demo, main, targets
from langchain_rag.cli.articles import load_articles

MODULE = """
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag import RAGVectorStore
from langchain_rag.storage import InMemoryRecordManager
from langchain_rag.testing import AsyncOnlyVectorStore, CountingEmbeddings

rag = RAGVectorStore(
    vectorstore=InMemoryVectorStore(CountingEmbeddings()),
    docstore=InMemoryStore(),
    source_id_key=None,
)
rag.add_documents([Document("one"), Document("two")], ids=["1", "[2]"])


def damage():
    rag.vectorstore.store.clear()
    return rag


def pair():
    manager = InMemoryRecordManager("x")
    manager.update(["gone"])
    return rag, rag.index_kwargs(manager)


async def later():
    store = RAGVectorStore(
        vectorstore=AsyncOnlyVectorStore(CountingEmbeddings()),
        docstore=InMemoryStore(),
        source_id_key=None,
    )
    await store.aadd_documents([Document("one")], ids=["1"])
    store.vectorstore.store.clear()
    return store


def leave():
    raise SystemExit(0)


async def aleave():
    raise SystemExit(0)


def noisy():
    print("hello")
    return rag


async def anoisy():
    print("hello")
    return rag


def shared():
    other = RAGVectorStore(
        vectorstore=rag.vectorstore, docstore=InMemoryStore(), source_id_key=None
    )
    other.add_documents([Document("three")], ids=["3"])
    return rag


class app:
    store = rag


nothing = 3
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "myapp_of_tests.py").write_text(MODULE)
    (tmp_path / "leaving_of_tests.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "broken_of_tests.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "myapp_of_tests", raising=False)


@pytest.mark.parametrize("name", ["rag", "app.store"])
def test_a_clean_store(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = list(sys.path)
    assert main(["verify", f"myapp_of_tests:{name}"]) == 0
    assert "clean: 2 documents and 2 rows" in capsys.readouterr().out
    assert sys.path == path


def test_findings_have_an_exit_code_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "myapp_of_tests:damage"]) == 2
    out = capsys.readouterr().out
    assert "missing row (2)" in out
    assert "[2]" in out  # no markup


def test_without_rich(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["verify", "myapp_of_tests:damage"]) == 2
    assert "missing row  " in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "myapp_of_tests:damage", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert said["counts"] == {"missing row": 2}
    assert {finding["document_id"] for finding in said["findings"]} == {"1", "[2]"}


def test_the_pair_of_the_factories_has_the_record_manager(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", "myapp_of_tests:pair", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["counts"] == {"tracked, not stored": 1}


@pytest.mark.parametrize("answer", ["y", "YES", "n", "", None])
def test_repair_asks_first(
    answer: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(prompt: str) -> str:
        assert "missing row (2)" in capsys.readouterr().out
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", reply)
    agreed = bool(answer) and answer != "n"
    assert main(["repair", "myapp_of_tests:damage"]) == (0 if agreed else 2)
    assert ("repaired" in capsys.readouterr().out) is (agreed or answer is None)
    assert main(["verify", "myapp_of_tests:rag"]) == (0 if agreed else 2)


def test_repair_with_yes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "myapp_of_tests:damage", "--yes", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows_written"], said["llm_calls"]) == (2, 0)


def test_repair_for_a_program_needs_yes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "myapp_of_tests:damage", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["counts"] == {"missing row": 2}
    assert "--yes" in captured.err
    assert main(["verify", "myapp_of_tests:rag"]) == 2


def test_nothing_to_repair_is_not_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "myapp_of_tests:rag"]) == 0
    assert "clean" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["verify"], ["repair", "--yes"], ["stats"]])
def test_an_asynchronous_function_is_awaited(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {"verify": 2, "repair": 0, "stats": 0}[command[0]]
    assert main([*command, "myapp_of_tests:later"]) == expected
    assert "1" in capsys.readouterr().out


def test_stats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "myapp_of_tests:rag"]) == 0
    assert "2 documents of 0 sources, 2 chunks" in capsys.readouterr().out
    assert main(["stats", "myapp_of_tests:rag", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variations"] == {"chunk": 2}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("myapp_of_tests", "MODULE:NAME"),
        ("myapp_of_tests:", "MODULE:NAME"),
        (".myapp_of_tests:rag", "MODULE:NAME"),
        ("..:rag", "MODULE:NAME"),
        ("myapp_of_tests..sub:rag", "MODULE:NAME"),
        ("myapp_of_tests:app..store", "has no 'app..store'"),
        ("no_such_module:rag", "There is no module 'no_such_module'"),
        ("myapp_of_tests.sub:rag", "There is no module 'myapp_of_tests.sub'"),
        ("myapp_of_tests:none", "has no 'none'"),
        ("myapp_of_tests:nothing", "gave a int"),
    ],
)
def test_what_names_no_store(
    target: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", target]) == 1
    assert said in capsys.readouterr().err


def test_an_import_that_fails_in_the_module_is_shown_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        main(["verify", "broken_of_tests:rag"])


@pytest.mark.parametrize("argv", [["verify"], ["verify", "a:b", "--path", "c"], ["stats"]])
def test_one_store_has_to_be_named(argv: list[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(argv)


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert main(["repair", "myapp_of_tests:damage"]) == 130
    assert "What was repaired is kept" in capsys.readouterr().err


def test_a_folder_of_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    demo.run(
        path=folder,
        query="Why?",
        k=1,
        no_llm=True,
        console=Console(file=io.StringIO()),
        articles=[
            article
            for article in load_articles()
            if article.metadata["source"] in {demo.CHANGED, demo.DELETED}
        ],
    )
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--path", "demo"]) == 0
    assert "clean: 1 documents" in capsys.readouterr().out
    with targets.in_demo_folder(folder) as rag:
        rag.vectorstore.delete(rag.vectorstore.get()["ids"][:2])  # type: ignore[attr-defined]
    assert main(["verify", "--path", "demo"]) == 2
    assert main(["repair", "--path", "demo", "--yes"]) == 0
    assert main(["stats", "--path", "demo"]) == 0
    assert "1 documents of 1 sources" in capsys.readouterr().out


def test_what_is_no_folder_of_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--path", str(tmp_path)]) == 1
    assert "no folder of the demo" in capsys.readouterr().err


def test_a_module_that_ends_the_process_is_no_clean_store(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for target in ("leaving_of_tests:rag", "myapp_of_tests:leave", "myapp_of_tests:aleave"):
        assert main(["verify", target]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert f"{target} called sys.exit(0)" in captured.err


@pytest.mark.parametrize("name", ["noisy", "anoisy"])
def test_what_a_function_prints_is_not_in_the_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", f"myapp_of_tests:{name}", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["ok"] is True
    assert "hello" in captured.err


def test_unknown_rows_go_only_where_one_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "myapp_of_tests:shared", "--yes"]) == 2
    assert "--unknown-rows" in "".join(capsys.readouterr().out.split())
    assert main(["repair", "myapp_of_tests:shared", "--yes", "--unknown-rows"]) == 0
    assert main(["verify", "myapp_of_tests:rag"]) == 0


class Broken(io.StringIO):
    """Standard output that nobody reads, or on a disk that is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("error", [BrokenPipeError(32, "closed"), OSError(28, "full")])
@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["verify", "myapp_of_tests:damage"], 2),
        (["verify", "myapp_of_tests:damage", "--json"], 2),
        (["verify", "myapp_of_tests:rag"], 0),
        (["repair", "myapp_of_tests:damage"], 2),  # nobody can have agreed
        (["repair", "myapp_of_tests:damage", "--yes"], 0),
    ],
)
def test_a_report_that_cannot_be_written(
    argv: list[str],
    code: int,
    error: OSError,
    rich: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(sys, "stdout", Broken(error))
    assert main(argv) == code
    assert ("full" in capsys.readouterr().err) is (error.errno == 28)


@pytest.mark.full
@pytest.mark.parametrize("closed", [True, False])
def test_a_process_whose_output_nobody_takes(closed: bool, tmp_path: Path) -> None:
    """The interpreter writes what is left when it ends; that must not change the code."""
    full = Path("/dev/full")
    if closed or not full.exists():
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(full, os.O_WRONLY)
    argv = [sys.executable, "-m", "langchain_rag.cli", "verify", "myapp_of_tests:damage"]
    ended = subprocess.run(
        argv, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, text=True, check=False
    )
    os.close(writer)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_errors_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "no_such\x1b[2J\u202e:rag"]) == 1
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_a_store_that_fails_is_an_error_with_its_origin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "broken_store.py").write_text("def build():\n    raise OSError('no index')\n")
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "broken_store:build"]) == 1
    said = capsys.readouterr().err
    assert "langchain-rag: verify failed with OSError: no index" in said
    assert "broken_store.py" in said
