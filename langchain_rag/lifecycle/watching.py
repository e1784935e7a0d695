"""Who wants to know what becomes of each document of an import."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from langchain_rag._flow import Flow
from langchain_rag.document_transformers.overseeing import Overseer
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.plan import Change
from langchain_rag.lifecycle.sources import SourceDocument


class Watch:
    """Is told what becomes of each document, and does nothing about it.

    `langchain_rag.lifecycle.recording` makes a report of it.
    """

    def expect(
        self,
        sources: Sequence[SourceDocument],  # noqa: ARG002 - for those that do something
        manifests: Mapping[str, Manifest],  # noqa: ARG002
    ) -> Flow[None]:
        """Note documents before any of them is written.

        Args:
            sources: The documents.
            manifests: Those of them that are stored, by document id.
        """
        yield from ()

    def forget(
        self,
        sources: Sequence[SourceDocument],  # noqa: ARG002 - as above
    ) -> Flow[None]:
        """Note that documents were expected, and are not stored after all.

        Args:
            sources: The documents.
        """
        yield from ()

    def unchanged(self, source: SourceDocument) -> None:
        """Note a document that is stored as it is.

        Args:
            source: The document.
        """

    def written(self, source: SourceDocument, change: Change) -> None:
        """Note a document that was written.

        Args:
            source: The document.
            change: What was written.
        """

    def failed(
        self, source: SourceDocument, errors: Sequence[Exception], chunk: str | None = None
    ) -> None:
        """Note a document, or a chunk of one, that failed.

        Args:
            source: The document.
            errors: What failed.
            chunk: Key of the chunk whose plain text stands in; None where the document
                stays as it was.
        """

    def asked(self, overseer: Overseer) -> None:
        """Note what a batch asked of models.

        Args:
            overseer: What followed it.
        """

    def spent(self, phase: str, seconds: float) -> None:
        """Note how long something took.

        Args:
            phase: What.
            seconds: How long.
        """


@contextmanager
def timed(watch: Watch, phase: str) -> Generator[None]:
    """Tell a watch how long a block took.

    Args:
        watch: The watch.
        phase: What the block does.
    """
    start = time.perf_counter()
    try:
        yield
    finally:
        watch.spent(phase, time.perf_counter() - start)
