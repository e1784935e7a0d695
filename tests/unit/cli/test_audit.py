"""`langchain-rag verify`, `repair` and `stats`."""

from __future__ import annotations

import io
import json
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


class app:
    store = rag


nothing = 3
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "myapp_of_tests.py").write_text(MODULE)
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
    with pytest.raises(SystemExit, match="2"):
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
