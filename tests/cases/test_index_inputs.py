"""`rag.index()`: whatever yields documents, read as they are needed."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_rag.errors import TransformerError
from langchain_rag.testing import Driver, audit
from tests.cases.indexed import ROWS, Setting, page, place

BATCHES_AHEAD = 4
"""One that is being made, beside those that are under way."""


@pytest.fixture
def setting(driver: Driver) -> Setting:
    return Setting(driver)


def pages(number: int) -> list[Document]:
    return [page(f"text {n}", f"s{n % 3}") for n in range(number)]


class Lazy(BaseLoader):
    """A loader whose two forms can be told apart."""

    def __init__(self) -> None:
        self.used: list[str] = []

    def lazy_load(self) -> Iterator[Document]:
        self.used.append("lazy_load")
        yield from pages(7)

    async def alazy_load(self) -> AsyncIterator[Document]:
        self.used.append("alazy_load")
        for document in pages(7):
            await asyncio.sleep(0)
            yield document


class OnlySync(BaseLoader):
    """What most loaders are: the asynchronous form is LangChain's own."""

    def lazy_load(self) -> Iterator[Document]:
        yield from pages(7)


class OnlyList(BaseLoader):
    """One of the old kind."""

    def load(self) -> list[Document]:
        return pages(7)


def generator() -> Iterator[Document]:
    yield from pages(7)


async def agenerator() -> AsyncIterator[Document]:
    for document in pages(7):
        await asyncio.sleep(0)
        yield document


@pytest.mark.parametrize(
    "make",
    [
        lambda: pages(7),
        lambda: tuple(pages(7)),
        lambda: iter(pages(7)),
        lambda: map(Document.model_copy, pages(7)),
        lambda: dict(enumerate(pages(7))).values(),
        generator,
        Lazy,
        OnlySync,
        OnlyList,
    ],
    ids=["list", "tuple", "iterator", "map", "values", "generator", "lazy", "sync", "old"],
)
@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
async def test_documents_may_come_in_any_way(
    setting: Setting, make: Any, batch_size: int
) -> None:
    documents = make()
    report = await setting.index(documents, batch_size=batch_size)
    # Batches end in the order in which the model answers for them.
    assert sorted(report.added) == sorted(place(f"s{n % 3}", n // 3) for n in range(7))
    assert len(setting.rows()) == 7 * ROWS
    if isinstance(documents, Lazy):
        form = {"sync": "lazy_load", "async": "alazy_load"}[setting.driver.name]
        assert documents.used == [form]
    assert (await setting.index(make(), batch_size=batch_size)).num_skipped == 7


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
async def test_an_asynchronous_generator(batch_size: int) -> None:
    setting = Setting(Driver("async"))
    report = await setting.index(agenerator(), batch_size=batch_size)
    # Batches end in the order in which the model answers for them.
    assert sorted(report.added) == sorted(place(f"s{n % 3}", n // 3) for n in range(7))
    assert await setting.is_clean()


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_documents_are_read_as_they_are_needed(driver: Driver, kind: str) -> None:
    """However many there are, no more than a few batches are held."""
    if (driver.name, kind) == ("sync", "async"):
        pytest.skip("index() takes no asynchronous generator")
    setting = Setting(driver, chunk_transformer=None)
    read, done, most = 0, 0, 0

    def next_page() -> Document:
        nonlocal read, most
        read += 1
        most = max(most, read - done)
        return page(f"text {read}", f"s{read % 5}")

    def load() -> Iterator[Document]:
        for _ in range(200):
            yield next_page()

    async def aload() -> AsyncIterator[Document]:
        for _ in range(200):
            yield next_page()

    def listen(event: Any) -> None:
        nonlocal done
        done = event.done

    documents = load() if kind == "sync" else aload()
    report = await setting.index(documents, batch_size=5, progress=listen)
    assert (report.num_added, read, done) == (200, 200, 200)
    assert most <= BATCHES_AHEAD * 5
    # Unchanged ones are not read further ahead either.
    read = done = most = 0
    report = await setting.index(
        load() if kind == "sync" else aload(), batch_size=5, progress=listen
    )
    assert report.num_skipped == 200
    assert most <= BATCHES_AHEAD * 5


async def test_a_generator_is_read_in_the_thread_of_the_caller(setting: Setting) -> None:
    threads: set[int] = set()

    def load() -> Iterator[Document]:
        for document in pages(50):
            threads.add(threading.get_ident())
            yield document

    await setting.index(load(), batch_size=2)
    assert threads == {threading.get_ident()}


async def test_a_progress_function_is_called_in_the_thread_of_the_caller(
    setting: Setting,
) -> None:
    threads: set[int] = set()
    await setting.index(
        pages(50), batch_size=2, progress=lambda event: threads.add(threading.get_ident())
    )
    assert threads == {threading.get_ident()}


async def test_documents_after_a_failure_are_not_read(setting: Setting) -> None:
    read: list[int] = []
    closed: list[bool] = []

    def load() -> Iterator[Document]:
        try:
            for n in range(100):
                read.append(n)
                yield page("bad" if n == 2 else f"text {n}", "s")
        finally:
            closed.append(True)

    setting.llm.fail_when = lambda prompt: "bad" in prompt
    with pytest.raises(TransformerError):
        await setting.index(load(), batch_size=1)
    assert len(read) <= 3 + BATCHES_AHEAD
    assert audit(setting.start()) == []
    gc.collect()
    assert closed == [True]


async def test_an_asynchronous_generator_is_closed_when_the_run_fails() -> None:
    """So that what it holds open, such as a connection, is not left to the garbage."""
    setting = Setting(Driver("async"))
    closed: list[str] = []

    async def load() -> AsyncIterator[Document]:
        try:
            for n in range(100):
                yield page("bad" if n == 2 else f"text {n}", "s")
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    setting.llm.fail_when = lambda prompt: "bad" in prompt
    documents = load()
    with pytest.raises(TransformerError):
        await setting.index(documents, batch_size=1)
    assert closed == ["closed"]


async def test_a_generator_that_raises_in_the_middle_of_a_batch(setting: Setting) -> None:
    async def aload() -> AsyncIterator[Document]:
        for document in load():
            yield document

    def load() -> Iterator[Document]:
        yield from pages(7)
        message = "no more"
        raise LookupError(message)

    kinds = [load] if setting.driver.name == "sync" else [load, aload]
    for make in kinds:
        with pytest.raises(LookupError, match="no more"):
            await setting.index(make(), batch_size=5, on_error="skip")
        assert len(setting.rows()) == 7 * ROWS


async def test_a_loader_may_use_the_store_while_it_is_read(setting: Setting) -> None:
    """Such as one that looks up what is there."""
    rag = setting.start()
    await setting.driver(rag, "index", [page("first", "zero")])

    def load() -> Iterator[Document]:
        for document in pages(6):
            assert rag.similarity_search("first", k=1)
            yield document

    report = await setting.driver(rag, "index", load(), batch_size=2)
    assert report.num_added == 6
    assert audit(rag) == []


async def test_no_documents(setting: Setting) -> None:
    report = await setting.index([])
    assert report.as_dict() == dict.fromkeys(report.as_dict(), 0)
    assert report.ok
    assert setting.world.plan.calls == []
