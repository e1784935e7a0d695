"""The calls that are interrupted: an import, a change and a deletion, in both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.crash.killing import corpus

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from langchain_rag.testing import Driver
    from tests.crash.killing.sites import Site

PHASES = ("import", "change", "delete")
WAYS = ("rag.index", "index", "ids")

DELETED = [corpus.id_of(corpus.page(number)) for number in range(3, 23)]


def documents_of(phase: str) -> list[Document]:
    """Return the documents of a phase, in the order in which they are given."""
    return {
        "import": corpus.imported,
        "change": corpus.changed,
        "delete": corpus.kept,
    }[phase]()


async def make(site: Site, driver: Driver, way: str, phase: str) -> Any:
    """Make a call.

    Args:
        site: With which stores.
        driver: Sync or async.
        way: By `rag.index()`, by LangChain's `index()`, or by `add_documents` with ids of the
            user's own.
        phase: Which call.
    """
    documents = documents_of(phase)
    if way == "rag.index":
        return await driver(site.rag, "index", documents, batch_size=corpus.BATCH_SIZE)
    if way == "index":
        return await driver.index(
            documents,
            cleanup="scoped_full",
            batch_size=corpus.BATCH_SIZE,
            **site.index_kwargs,
        )
    if phase == "delete":
        return await driver(site.rag, "delete", DELETED)
    return await driver(
        site.rag,
        "add_documents",
        documents,
        ids=[corpus.id_of(document) for document in documents],
        batch_size=corpus.BATCH_SIZE,
    )
