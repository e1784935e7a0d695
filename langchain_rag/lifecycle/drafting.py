"""Cutting the documents of a batch into chunks, and making the variations of the chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig

from langchain_rag._flow import Flow
from langchain_rag.document_transformers import reads_metadata
from langchain_rag.document_transformers.overseer import Overseer
from langchain_rag.errors import RAGError
from langchain_rag.lifecycle import tracing
from langchain_rag.lifecycle.drafts import DraftChunk, draft_chunks
from langchain_rag.lifecycle.lineage import transform
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.plan import is_current
from langchain_rag.lifecycle.recorder import Recorder
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.variations import set_variations
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
        recorder: Is told what failed.
    """

    def __init__(self, lifecycle: Lifecycle, settings: Settings, recorder: Recorder) -> None:
        self._lifecycle = lifecycle
        self._transformers = lifecycle.transformers
        self._fingerprints = lifecycle.transformers.fingerprints
        self._settings = settings
        self._recorder = recorder

    def run(
        self, batch: Sequence[SourceDocument], manifests: Mapping[str, Manifest]
    ) -> Flow[list[Draft]]:
        """Make chunks with variations of documents.

        Args:
            batch: The documents.
            manifests: Those of them that are stored, by document id.

        Returns:
            The documents that may be written; the others have been recorded as failed.

        Raises:
            TransformerError: A transformer failed, and that is to end the import.
        """
        runs = yield from tracing.started(batch, self._settings.config)
        try:
            with self._recorder.timed("cutting"):
                cut, cutting = yield from self._cut(batch, manifests, runs.configs)
            owners = [number for number, chunks in enumerate(cut) for _ in chunks]
            chunks = [chunk for drafted in cut for chunk in drafted]
            configs = [runs.configs[n] for n in owners] if runs.configs else []
            with self._recorder.timed("varying"):
                varying = yield from self._vary(chunks, configs)
        except GeneratorExit:
            raise  # nothing can be awaited
        except BaseException as error:
            yield from runs.failed(error)
            raise
        troubles = dict(cutting.troubles)
        for number, errors in sorted(varying.troubles.items()):
            source, chunk = batch[owners[number]], chunks[number]
            # What is only forced is better stored as it is than by its plain text.
            live = manifests.get(source.document_id)
            if chunk.incomplete and not is_current(source, live, self._fingerprints):
                self._recorder.failed(source, errors, chunk.record.key)
            else:
                troubles.setdefault(owners[number], []).extend(errors)
        for number, errors in troubles.items():
            self._recorder.failed(batch[number], errors)
        self._recorder.asked(cutting, varying)
        yield from runs.ended({n: errors[0] for n, errors in troubles.items()})
        return [
            Draft(source, chunks)
            for number, (source, chunks) in enumerate(zip(batch, cut, strict=True))
            if number not in troubles
        ]

    def _cut(
        self,
        batch: Sequence[SourceDocument],
        manifests: Mapping[str, Manifest],
        configs: Sequence[RunnableConfig],
    ) -> Flow[tuple[list[list[DraftChunk]], Overseer]]:
        """Cut documents into chunks, in reading order; none of a document that failed."""
        settings, parent = self._settings, self._transformers.parent
        overseer = self._overseer(configs)
        inputs = {number: source.copy() for number, source in enumerate(batch)}
        outputs = {number: [document] for number, document in inputs.items()}
        if parent is not None:
            # A blank document has no chunks; not every transformer would know what to do.
            filled = {n: one for n, one in inputs.items() if one.page_content.strip()}
            outputs = yield from transform(parent, filled, overseer)
        drafted: list[list[DraftChunk]] = [[] for _ in batch]
        for number, source in enumerate(batch):
            if number in overseer.troubles:
                continue
            try:
                drafted[number] = draft_chunks(
                    source,
                    outputs.get(number, []),
                    self._transformers.namespace,
                    None if settings.force else manifests.get(source.document_id),
                    self._fingerprints[1],
                    ignored=settings.ignored,
                )
            except RAGError as error:
                if not overseer.tolerant:
                    raise
                overseer.trouble(number, error)
        return drafted, overseer

    def _vary(
        self, chunks: Sequence[DraftChunk], configs: Sequence[RunnableConfig]
    ) -> Flow[Overseer]:
        """Make the variations of the chunks that are new, and only of them.

        A chunk for which that failed has none then, or with `on_error="copy"` its plain text.
        """
        settings, transformer = self._settings, self._transformers.chunk
        overseer = self._overseer(configs)
        todo = {n: chunk for n, chunk in enumerate(chunks) if chunk.needs_variations}
        yield from self._keep([chunk for chunk in todo.values() if chunk.before])
        new = {n: chunk for n, chunk in todo.items() if chunk.before is None}
        inputs = {n: chunk.input for n, chunk in new.items()}
        outputs = {n: [document] for n, document in inputs.items()}
        if transformer is not None:
            outputs = yield from transform(transformer, inputs, overseer)
        failed = set_variations(
            new,
            outputs,
            None if transformer is None else type(transformer).__name__,
            failed=overseer.troubles,
            on_error=settings.on_error,
        )
        for number, error in failed.items():
            overseer.trouble(number, error)
        return overseer

    def _keep(self, chunks: Sequence[DraftChunk]) -> Flow[None]:
        """Give chunks of which only the metadata changed the variations that are stored.

        What the model said of a text holds where it was told the text only.
        """
        transformer = self._transformers.chunk
        if transformer is not None and reads_metadata(transformer):
            for chunk in chunks:
                chunk.before = None
            return
        contents = {chunk.record.key: chunk.record.content for chunk in chunks}
        stored = yield from self._lifecycle.records.variations(contents)
        for chunk in chunks:
            variations = stored.get(chunk.record.key)
            if variations is None:
                chunk.before = None
            else:
                chunk.keep(variations)

    def _overseer(self, configs: Sequence[RunnableConfig]) -> Overseer:
        settings = self._settings
        return Overseer(
            settings.config,
            tolerant=settings.tolerant,
            dry_run=settings.dry_run,
            configs=configs,
        )
