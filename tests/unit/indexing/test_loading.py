"""Reading documents a batch at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_rag._flow import arun, run
from langchain_rag.errors import ConfigurationError
from langchain_rag.indexing.loading import Loading
from langchain_rag.testing import Driver


async def following(driver: Driver, loading: Loading, size: int) -> list[str]:
    flow = loading.next(size, lambda document: [document.page_content])
    return (run(flow) if driver.name == "sync" else await arun(flow)) or []


async def batches(driver: Driver, loading: Loading, size: int) -> list[list[str]]:
    found = []
    while batch := await following(driver, loading, size):
        found.append(batch)
    # The end is the end, however often one asks.
    assert await following(driver, loading, size) == []
    return found


def documents(number: int) -> Iterator[Document]:
    for n in range(number):
        yield Document(str(n))


async def adocuments(number: int) -> AsyncIterator[Document]:
    for document in documents(number):
        yield document


class Loader(BaseLoader):
    def lazy_load(self) -> Iterator[Document]:
        return documents(5)


class AsyncLoader(BaseLoader):
    async def alazy_load(self) -> AsyncIterator[Document]:
        async for document in adocuments(5):
            yield document


FIVE = [["0", "1"], ["2", "3"], ["4"]]


@pytest.mark.parametrize(
    ("make", "total"),
    [
        (lambda: list(documents(5)), 5),
        (lambda: tuple(documents(5)), 5),
        (lambda: dict(enumerate(documents(5))).values(), 5),
        (lambda: documents(5), None),
        (Loader, None),
    ],
    ids=["list", "tuple", "values", "generator", "loader"],
)
async def test_batches(driver: Driver, make: Any, total: int | None) -> None:
    loading = Loading(make())
    assert loading.total == total
    assert await batches(driver, loading, 2) == FIVE


@pytest.mark.parametrize("make", [lambda: adocuments(5), AsyncLoader])
async def test_batches_of_what_is_asynchronous(make: Any) -> None:
    loading = Loading(make())
    assert loading.total is None
    assert await batches(Driver("async"), loading, 2) == FIVE


@given(number=st.integers(0, 20), sizes=st.lists(st.integers(1, 7), min_size=21, max_size=21))
async def test_nothing_is_lost_or_doubled(number: int, sizes: list[int]) -> None:
    for driver in (Driver("sync"), Driver("async")):
        for make in (documents, adocuments):
            if make is adocuments and driver.name == "sync":
                continue
            loading = Loading(make(number))
            found: list[str] = []
            for size in sizes:
                batch = await following(driver, loading, size)
                assert len(batch) == min(size, number - len(found))
                found += batch
            assert found == [str(n) for n in range(number)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_what_came_before_an_error_comes_first(
    driver: Driver, kind: str, size: int
) -> None:
    def load() -> Iterator[Document]:
        yield from documents(3)
        message = "broken"
        raise LookupError(message)

    async def aload() -> AsyncIterator[Document]:
        for document in load():
            yield document

    if (driver.name, kind) == ("sync", "async"):
        pytest.skip("index() takes no asynchronous generator")
    loading = Loading(load() if kind == "sync" else aload())
    found: list[str] = []
    while len(found) < 3:
        batch = await following(driver, loading, size)
        assert batch
        found += batch
    assert found == ["0", "1", "2"]
    with pytest.raises(LookupError, match="broken"):
        await following(driver, loading, size)


async def test_no_more_is_read_than_was_asked_for(driver: Driver) -> None:
    read: list[int] = []

    def load() -> Iterator[Document]:
        for n in range(9):
            read.append(n)
            yield Document(str(n))

    loading = Loading(load())
    assert read == []
    await following(driver, loading, 4)
    assert read == [0, 1, 2, 3]


@pytest.mark.parametrize("given", [None, 3, "text", Document("text"), object()])
def test_what_is_no_source_of_documents(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"docs is a {type(given).__name__}"):
        Loading(given)


def test_what_is_asynchronous_needs_aindex() -> None:
    with pytest.raises(ConfigurationError, match="await aindex"):
        run(Loading(adocuments(1)).next(1, lambda document: [document]))
