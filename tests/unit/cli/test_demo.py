"""The whole story, in this process, on disk."""

import io
import signal
import threading
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from rich.console import Console

from langchain_rag.cli import QUERY, demo, models
from langchain_rag.cli.articles import load_articles
from langchain_rag.cli.counting import LLMCalls
from langchain_rag.cli.report import Report
from langchain_rag.cli.settings import FILE
from langchain_rag.cli.store import Match, kind_of
from langchain_rag.errors import ConfigurationError, TransformerError

FEW = [
    article
    for article in load_articles()
    if article.metadata["source"]
    in {demo.CHANGED, demo.DELETED, "articles/pure-and-applied.md", "articles/algebra.md"}
]


def told(path: Path, *, query: str = QUERY, k: int = 4, **choices: object) -> str:
    """Run the demo and return what it wrote, with single blanks."""
    output = io.StringIO()
    console = Console(file=output, width=200)
    demo.run(path=path, query=query, k=k, console=console, **choices)  # type: ignore[arg-type]
    return " ".join(output.getvalue().split())


def test_the_story_without_an_llm_twice(tmp_path: Path) -> None:
    folder = tmp_path / "demo"

    first = told(folder, no_llm=True)

    assert "12 imported, 0 skipped, 0 old removed · 0 LLM calls, 165 texts embedded" in first
    assert "0 imported, 12 skipped, 0 old removed · 0 LLM calls, 0 texts embedded" in first
    assert "1 imported, 11 skipped, 1 old removed · 0 LLM calls" in first
    assert "2 chunks now: 1 with a new text, 1 with the text that it had." in first
    assert "Nothing was done for the other 11 articles." in first
    assert "0 imported, 11 skipped, 1 old removed · 0 LLM calls, 0 texts embedded" in first
    assert "documents SQLite 12" in first
    assert "chunks SQLite 25" in first
    assert "documents SQLite 11" in first
    assert "chunks SQLite 23" in first
    assert "smaller pieces Chroma" in first
    assert "Pure and Applied Mathematics (articles/pure-and-applied.md)" in first
    assert "from an earlier run" not in first

    second = told(folder, no_llm=True)

    assert "10 of them are here from an earlier run." in second
    assert "2 imported, 10 skipped, 1 old removed · 0 LLM calls" in second
    # From there on both tell the same.
    start, end = "2. What is stored", "6. Ask"
    untimed = [
        [word for word in text[text.index(start) :].split() if not word.startswith("0.")]
        for text in (first, second)
    ]
    assert untimed[0] == untimed[1]
    assert end in second


def test_another_question_and_k(tmp_path: Path) -> None:
    output = told(tmp_path, query="Who proved the Poincaré conjecture?", k=1, no_llm=True)

    assert "6. Ask: Who proved the Poincaré conjecture?" in output
    assert "Topology (articles/topology.md)" in output
    assert "│ 1 │" in output
    assert "│ 2 │" not in output


def test_more_chunks_than_there_are(tmp_path: Path) -> None:
    output = told(tmp_path, k=50, no_llm=True, articles=FEW)

    # Four articles, one of them deleted again.
    assert "chunks SQLite 7" in output
    assert "│ 7 │" in output
    assert "│ 8 │" not in output


def scripted() -> FakeListChatModel:
    """Answers both prompts: the lines that are questions are taken, or all of it."""
    return FakeListChatModel(responses=["What is a set?\nWhat has members?"])


def test_the_story_with_an_llm_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(models, "remote_llm", lambda name: scripted())

    first = told(tmp_path, llm="somebody:model", articles=FEW)

    assert "LLM: somebody:model" in first
    assert "4 imported, 0 skipped, 0 old removed · 18 LLM calls, 36 texts embedded" in first
    assert "variations: questions Chroma 18" in first
    assert "variations: summary Chroma 9" in first
    assert "variations: copy Chroma 9" in first
    assert "0 imported, 4 skipped, 0 old removed · 0 LLM calls, 0 texts embedded" in first
    assert "The LLM was asked about" in first
    assert "SUMMARY:" in first or "copy" in first

    second = told(tmp_path, llm="somebody:model", articles=FEW)

    assert "2 of them are here from an earlier run." in second
    assert "documents SQLite 4" in second


def test_another_llm_makes_all_variations_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told(tmp_path, no_llm=True, articles=FEW)
    monkeypatch.setattr(models, "remote_llm", lambda name: scripted())

    output = told(tmp_path, llm="somebody:model", articles=FEW)

    assert "were made with the LLM 'none': all are made again." in output
    assert "4 imported, 0 skipped, 3 old removed · 18 LLM calls" in output
    assert "smaller pieces" not in output
    assert "variations in all Chroma 36" in output


def test_other_embeddings_are_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"embeddings": "openai:large", "llm": "none"}')

    with pytest.raises(ConfigurationError, match="made with the embeddings 'openai:large'"):
        told(tmp_path, no_llm=True)


def test_an_llm_that_fails_leaves_what_the_next_run_continues(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Metered(FakeListChatModel):
        def _call(self, *args: object, **kwargs: object) -> str:
            if not quota:
                raise RuntimeError("quota exceeded")
            quota.pop()
            return super()._call(*args, **kwargs)

    quota = [1] * 18
    five = [*FEW, Document("Sets.", metadata={"source": "zzz.md", "title": "Sets"})]
    monkeypatch.setattr(models, "remote_llm", lambda name: Metered(responses=["What is it?"]))
    with pytest.raises(TransformerError, match="quota exceeded"):
        told(tmp_path, llm="somebody:model", articles=five)
    quota += [1] * 100

    output = told(tmp_path, llm="somebody:model", articles=five)

    assert "4 of them are here from an earlier run." in output
    assert "1 imported, 4 skipped, 0 old removed · 2 LLM calls" in output
    assert "documents SQLite 5" in output


def test_a_document_of_one_chunk_is_matched_as_well(tmp_path: Path) -> None:
    # Its chunk goes by the id of the document.
    short = Document("Sets have members.", metadata={"source": "sets.md", "title": "[Sets]"})

    output = told(
        tmp_path, query="What do sets have?", k=1, no_llm=True, articles=[*FEW, short]
    )

    assert "[Sets] (sets.md)" in output
    assert "Sets have members." in output


def test_ctrl_c_stops_the_server_before_all_else() -> None:
    stopped: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), demo._interruptible(lambda: stopped.append(1)):
        signal.raise_signal(signal.SIGINT)

    assert stopped == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_that_became_another_error_is_ctrl_c() -> None:
    # `Runnable.batch(return_exceptions=True)` returns it, and what comes of it is raised.
    def swallow() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise TransformerError("the model call failed") from error

    with pytest.raises(KeyboardInterrupt), demo._interruptible(demo._nothing):
        swallow()


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(TransformerError), demo._interruptible(demo._nothing):
        raise TransformerError("the model call failed")


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    handlers: list[object] = []

    def work() -> None:
        with demo._interruptible(lambda: None):
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert handlers == [signal.getsignal(signal.SIGINT)]


def test_calls_of_completion_models_count_too() -> None:
    calls = LLMCalls()
    answers: list[int] = []
    calls.on_answer = lambda: answers.append(1)

    FakeListLLM(responses=["x"]).batch(["a", "b"], {"callbacks": [calls]})

    assert calls.calls == 2
    assert len(answers) == 2


def test_kinds_of_foreign_rows() -> None:
    assert kind_of({"langchain_rag_kind": "summary", "transformer": "X"}) == "summary"
    assert kind_of({"transformer": "X"}) == "X"
    assert kind_of({}) == "chunk"


def test_a_long_excerpt_ends_with_a_whole_word() -> None:
    output = io.StringIO()
    chunk = Document("# T\n\n" + "word " * 100, metadata={"title": "T", "source": "t.md"})

    Report(Console(file=output, width=200)).matches([Match(chunk, "short", "copy", 0.25)])

    text = " ".join(output.getvalue().replace("│", " ").split())
    assert "word … " in text
    assert "# T" not in text
    assert "0.250" in text
