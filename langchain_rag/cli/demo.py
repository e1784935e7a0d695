"""The story that `langchain-rag demo` tells."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from langchain_rag.cli import models
from langchain_rag.cli.articles import changed, load_articles
from langchain_rag.cli.counting import CountingEmbeddings, LLMCalls
from langchain_rag.cli.report import Report
from langchain_rag.cli.settings import Settings, claim
from langchain_rag.cli.store import Store, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from langchain_core.documents import Document

__all__ = ["Story", "run"]

CHANGED: Final = "articles/probability.md"
DELETED: Final = "articles/numerals.md"
NEW_SENTENCE: Final = (
    "Weather services put it to daily use: a chance of rain of thirty percent means that it"
    " rains on about three of ten such days."
)


def run(
    *,
    path: Path,
    query: str,
    k: int,
    llm: str | None = None,
    embeddings: str | None = None,
    no_llm: bool = False,
    console: Console | None = None,
    articles: Sequence[Document] | None = None,
) -> None:
    """Run the demo.

    Args:
        path: Folder of the stores.
        query: The question.
        k: Number of chunks to show.
        llm: What `init_chat_model` takes; the model that runs here by default.
        embeddings: What `init_embeddings` takes; those that run here by default.
        no_llm: Whether to do without an LLM.
        console: Where to write; standard output by default.
        articles: What to import, the articles of this package by default. Those that are
            changed and deleted must be among them.

    Raises:
        ConfigurationError: A model cannot be had, or the folder is of another choice.
        KeyboardInterrupt: Ctrl-C. What was imported is kept.
    """
    report = Report(console or Console())
    calls = LLMCalls()
    with ExitStack() as stack:
        counted = CountingEmbeddings(models.embeddings_named(embeddings))
        local = None if no_llm or llm is not None else models.local_llm()
        settings = Settings(
            embeddings=embeddings or models.LOCAL_EMBEDDINGS,
            llm=models.NO_LLM if no_llm else llm or models.LOCAL_LLM,
        )
        model: models.Model | None = None if llm is None else models.remote_llm(llm)
        before = claim(path, settings)
        report.say(f"Folder: {path} · embeddings: {settings.embeddings} · LLM: {settings.llm}")
        if before is not None and before.llm != settings.llm:
            report.say(
                f"The variations here were made with the LLM {before.llm!r}: all are made"
                " again."
            )
        stack.enter_context(_interruptible(_nothing if local is None else local.stop))
        if local is not None:
            stack.enter_context(models.without_tracing())
            model = stack.enter_context(local)
        store = stack.enter_context(
            opened(
                path,
                counted,
                models.transformer_with(model, calls, local=local is not None),
                None if local is None else local.n_parallel,
            )
        )
        story = Story(store, report, calls, counted, has_llm=model is not None)
        story.tell(list(load_articles() if articles is None else articles), query, k)


class Story:
    """The steps of the demo.

    Args:
        store: The store.
        report: Where to write.
        calls: Counts the calls of the LLM.
        embeddings: Counts the embedded texts.
        has_llm: Whether there is an LLM.
    """

    def __init__(
        self,
        store: Store,
        report: Report,
        calls: LLMCalls,
        embeddings: CountingEmbeddings,
        *,
        has_llm: bool,
    ) -> None:
        self._store = store
        self._report = report
        self._calls = calls
        self._embeddings = embeddings
        self._has_llm = has_llm

    def tell(self, articles: list[Document], query: str, k: int) -> None:
        """Do one step after the other.

        Args:
            articles: What to import.
            query: The question.
            k: Number of chunks to show.
        """
        report = self._report
        report.heading(f"1. Import {len(articles)} articles")
        self._import(articles)
        report.heading("2. What is stored")
        report.stored(self._store.stored())
        report.heading("3. Import them again")
        self._measured(articles)
        report.heading(f"4. Change one article: {CHANGED}")
        articles = self._change(articles)
        report.heading(f"5. Delete one article: {DELETED}")
        self._delete(articles)
        report.heading(f"6. Ask: {query}")
        report.matches(self._store.matches(query, k))

    def _import(self, articles: list[Document]) -> None:
        missing = self._store.missing(articles)
        if len(missing) < len(articles):
            self._report.say(
                f"{len(articles) - len(missing)} of them are here from an earlier run."
            )
        total = len(missing)
        if self._has_llm:
            total = self._store.chunks_of(missing) * models.LLM_CALLS_PER_CHUNK
        with self._report.bar("LLM calls" if self._has_llm else "articles") as bar:
            task = bar.add_task("importing", total=total)

            def advance() -> None:
                bar.advance(task)

            if self._has_llm:
                self._calls.on_answer = advance
            try:
                line = self._index(articles)
            finally:
                self._calls.on_answer = int
            # What an earlier run knew already cost no call.
            bar.update(task, completed=total)
        self._report.say(line)

    def _measured(self, articles: list[Document]) -> None:
        self._report.say(self._index(articles))

    def _change(self, articles: list[Document]) -> list[Document]:
        before, calls = self._store.texts_of(CHANGED), self._calls.calls
        articles = [
            changed(one, NEW_SENTENCE) if one.metadata["source"] == CHANGED else one
            for one in articles
        ]
        self._measured(articles)
        after, calls = self._store.texts_of(CHANGED), self._calls.calls - calls
        asked = calls // models.LLM_CALLS_PER_CHUNK
        self._report.say(
            f"It has {len(after)} chunks now: {len(after - before)} with a new text,"
            f" {len(after & before)} with the text that it had."
            + (f" The LLM was asked about {asked} of them." if self._has_llm else "")
            + f" Nothing was done for the other {len(articles) - 1} articles."
        )
        return articles

    def _delete(self, articles: list[Document]) -> None:
        self._report.say(
            'cleanup="scoped_full" never removes an article that is no longer loaded, since it'
            ' only looks at the sources that it is given. cleanup="full" takes what is loaded'
            " for everything there is."
        )
        rest = [one for one in articles if one.metadata["source"] != DELETED]
        self._report.say(self._index(rest, "full"))
        self._report.stored(self._store.stored())

    def _index(self, articles: list[Document], cleanup: Any = "scoped_full") -> str:
        calls, texts, start = self._calls.calls, self._embeddings.texts, time.monotonic()
        counted = self._store.import_(articles, cleanup)
        seconds = time.monotonic() - start
        return (
            f"{counted['num_added']} imported, {counted['num_skipped']} skipped,"
            f" {counted['num_deleted']} old removed ·"
            f" {self._calls.calls - calls} LLM calls,"
            f" {self._embeddings.texts - texts} texts embedded, {seconds:.1f} s"
        )


def _nothing() -> None:
    """Stop nothing: there is no server."""


@contextmanager
def _interruptible(stop: Callable[[], None]) -> Generator[None]:
    """Make Ctrl-C end what runs inside, and end it at once.

    Args:
        stop: Called first, so that nothing waits for answers of the model server.

    Yields:
        Nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def interrupt(signum: int, _: object) -> None:
        asked.append(signum)
        stop()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception as error:
        # Between here and there are calls that hand any exception on as a result, and then
        # as the cause of another.
        if asked:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
