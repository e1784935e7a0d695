"""Running both transformers over a batch, and noting what failed for which document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig

from langchain_rag._flow import Flow
from langchain_rag.document_transformers.overseeing import Overseer
from langchain_rag.lifecycle import tracing
from langchain_rag.lifecycle.drafts import DraftChunk
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.transforming import is_current
from langchain_rag.lifecycle.watching import Watch, timed
from langchain_rag.lifecycle.write import Lifecycle


@dataclass(frozen=True, slots=True)
class Draft:
    """A document on its way.

    Attributes:
        source: The document.
        chunks: Its chunks; those that are not stored as they are have variations.
    """

    source: SourceDocument
    chunks: list[DraftChunk]


class Drafting:
    """Makes chunks with variations of documents.

    Args:
        lifecycle: Where what is stored is read.
        settings: How to import.
        watch: Is told what failed.
    """

    def __init__(self, lifecycle: Lifecycle, settings: Settings, watch: Watch) -> None:
        self._lifecycle = lifecycle
        self._settings = settings
        self._watch = watch

    def run(
        self, batch: Sequence[SourceDocument], manifests: Mapping[str, Manifest]
    ) -> Flow[list[Draft]]:
        """Make chunks with variations of documents.

        Args:
            batch: The documents.
            manifests: Those of them that are stored, by document id.

        Returns:
            The documents that may be written; the others have been noted as failed.

        Raises:
            TransformerError: A transformer failed, and that is to end the import.
        """
        settings, lifecycle = self._settings, self._lifecycle
        known: Mapping[str, Manifest] = {} if settings.force else manifests
        runs = yield from tracing.started(batch, settings.config)
        try:
            whole = self._overseer(runs.configs)
            with timed(self._watch, "cutting"):
                cut = yield from lifecycle.transformers.cut(batch, known, settings, whole)
            owners = [number for number, chunks in enumerate(cut) for _ in chunks]
            chunks = [chunk for draft in cut for chunk in draft]
            parts = self._overseer([runs.configs[n] for n in owners] if runs.configs else [])
            with timed(self._watch, "varying"):
                yield from lifecycle.transformers.vary(
                    chunks, lifecycle.stores, lifecycle.keys, settings, parts
                )
        except GeneratorExit:
            raise  # nothing can be awaited
        except BaseException as error:
            yield from runs.failed(error)
            raise
        for overseer in (whole, parts):
            self._watch.asked(overseer)
        troubles = dict(whole.troubles)
        for number, errors in sorted(parts.troubles.items()):
            source, chunk = batch[owners[number]], chunks[number]
            if chunk.incomplete and not self._is_stored(source, manifests):
                self._watch.failed(source, errors, chunk.record.key)
            else:
                troubles.setdefault(owners[number], []).extend(errors)
        for number, errors in troubles.items():
            self._watch.failed(batch[number], errors)
        yield from runs.ended({n: errors[0] for n, errors in troubles.items()})
        return [
            Draft(source, chunks)
            for number, (source, chunks) in enumerate(zip(batch, cut, strict=True))
            if number not in troubles
        ]

    def _is_stored(self, source: SourceDocument, manifests: Mapping[str, Manifest]) -> bool:
        """Say whether a document is only forced, and better stored than by its plain text."""
        live = manifests.get(source.document_id)
        return is_current(source, live, self._lifecycle.transformers.fingerprints)

    def _overseer(self, configs: Sequence[RunnableConfig]) -> Overseer:
        settings = self._settings
        return Overseer(tolerant=settings.tolerant, dry_run=settings.dry_run, configs=configs)
