"""The demo with the LLM that runs here, and Ctrl-C while it works."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from langchain_core.language_models import BaseChatModel
from rich.console import Console

from langchain_rag.cli import QUERY, demo
from langchain_rag.cli.articles import load_articles
from langchain_rag.local import LocalLLM

pytestmark = [pytest.mark.integration, pytest.mark.full]

SOURCES = (demo.CHANGED, demo.DELETED, "articles/pure-and-applied.md")
CHUNKS = 6
"""What these three articles are cut into."""

COMMAND = """
import sys
from langchain_rag.cli import demo, main, store
articles = [one for one in demo.load_articles() if one.metadata["source"] in {sources}]
for one in articles:
    # The title and one paragraph: a chunk each.
    one.page_content = "\\n\\n".join(one.page_content.split("\\n\\n")[:2])
demo.load_articles = lambda: articles
store.BATCH_SIZE = 1
sys.exit(main(sys.argv[1:]))
"""


def test_the_story_with_the_llm_that_runs_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Loopback must not go through it.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:9")
    articles = [one for one in load_articles() if one.metadata["source"] in SOURCES]
    output = io.StringIO()

    demo.run(
        path=tmp_path,
        query=QUERY,
        k=2,
        console=Console(file=output, width=200),
        articles=articles,
    )

    told = " ".join(output.getvalue().split())
    assert "LLM: SmolLM2-135M" in told
    assert f"3 imported, 0 skipped, 0 old removed · {2 * CHUNKS} LLM calls" in told
    assert f"chunks SQLite {CHUNKS} variations: copy Chroma {CHUNKS}" in told
    assert f"variations: summary Chroma {CHUNKS}" in told
    assert "variations: questions Chroma" in told
    assert "0 imported, 3 skipped, 0 old removed · 0 LLM calls, 0 texts embedded" in told
    assert "1 imported, 2 skipped, 1 old removed" in told
    assert "2 chunks now: 1 with a new text, 1 with the text that it had." in told
    assert "0 imported, 2 skipped, 1 old removed · 0 LLM calls" in told
    assert "documents SQLite 2" in told
    matched = told[told.index("6. Ask") :]
    assert "Pure and Applied Mathematics (articles/pure-and-applied.md)" in matched


@pytest.mark.parametrize(
    ("heading", "delay"), [("Folder:", 0.2), ("1. Import", 2.5), ("4. Change", 0.5)]
)
def test_ctrl_c_and_on(tmp_path: Path, heading: str, delay: float) -> None:
    folder = tmp_path / "demo"
    command = [
        sys.executable,
        "-u",
        "-c",
        COMMAND.format(sources=SOURCES),
        *("demo", "--path", str(folder)),
    ]
    environment = os.environ | {"COLUMNS": "200"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        for line in running.stdout:
            if heading in line:
                break
        time.sleep(delay)
        start = time.monotonic()
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)
        took = time.monotonic() - start
        complaint = running.stderr.read()

    assert running.returncode == 130, complaint
    assert complaint.startswith("langchain-rag: interrupted."), complaint
    assert complaint.count("\n") == 1
    # The calls in flight are not waited for.
    assert took < 20

    again = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=600, check=False
    )

    assert again.returncode == 0, again.stderr
    told = " ".join(again.stdout.split())
    assert "chunks SQLite 3 variations: copy Chroma 3" in told
    assert "variations: summary Chroma 3" in told
    assert "0 imported, 3 skipped, 0 old removed · 0 LLM calls, 0 texts embedded" in told
    assert "documents SQLite 2" in told
    if heading == "4. Change":
        assert "of them are here from an earlier run." in told


async def test_the_local_llm_alone() -> None:
    local = LocalLLM(n_parallel=1, n_ctx=256, max_tokens=8)
    with local as llm:
        assert isinstance(llm, BaseChatModel)
        assert llm.invoke("What is two plus two?").text
        assert (await llm.ainvoke("What is two plus two?")).text
        call = asyncio.create_task(asyncio.to_thread(llm.invoke, "Tell a long story."))
        await asyncio.sleep(0.05)
        local.stop()
        # It fails or was quicker; it does not hang.
        await asyncio.wait([call], timeout=30)
        assert call.done()
        call.exception()
