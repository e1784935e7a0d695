"""Indexing documents: importing what changed, cleaning up what is gone."""

from __future__ import annotations

from collections.abc import AsyncIterable, Collection, Iterable
from dataclasses import replace
from typing import Any

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.indexing import RecordManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from langchain_rag._flow import Flow
from langchain_rag._flow.together import arun_together, run_together
from langchain_rag.document_transformers.base import limit_of
from langchain_rag.document_transformers.usage import ModelUsage
from langchain_rag.embedding_cache import CachedEmbeddings, EmbeddingTally, tallying
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.cleaning import Cleanup, CleanupRules
from langchain_rag.lifecycle.index_report import IndexReport, Listener
from langchain_rag.lifecycle.indexing import Indexing
from langchain_rag.lifecycle.loading import Loading
from langchain_rag.lifecycle.progress import listening
from langchain_rag.lifecycle.settings import OnError, Settings
from langchain_rag.lifecycle.tracking import TrackedByManifests, TrackedByRecords
from langchain_rag.vectorstores import factories
from langchain_rag.vectorstores._base import checked_record_manager
from langchain_rag.vectorstores._writing import WritingMixin
from langchain_rag.vectorstores.record_manager import StoredRecordManager


class IndexingMixin(WritingMixin):
    """The methods of `RAGVectorStore` that index."""

    def index(
        self,
        docs: Iterable[Document] | BaseLoader,
        *,
        cleanup: Cleanup = "scoped_full",
        on_error: OnError = "raise",
        progress: bool | Listener = False,
        dry_run: bool = False,
        max_deletes: float | None = None,
        allow_empty: bool = False,
        force: bool = False,
        sources: Iterable[str] | None = None,
        ignore_metadata: Collection[str] = (),
        batch_size: int | None = None,
        config: RunnableConfig | None = None,
    ) -> IndexReport:
        """Bring the store to what a loader returns, and pay for what changed only.

        A document keeps its id when it changes: its own `Document.id`, else one made of its
        source and its place among the documents of that source. So it is compared chunk by
        chunk with what is stored. Chunks whose text did not change cost no call of a model and
        no write; where only metadata changed, it is written in place. A change of a
        transformer is noticed by its fingerprint.

        Documents are read as they are needed. While one batch is written, models are asked
        about the next. An interrupted run is continued by making the same call again.

        Args:
            docs: Documents, as a list, a generator or a loader.
            cleanup: Which stored documents are deleted that `docs` does not return:
                `"scoped_full"`, those of the sources that it returns anything of; `"full"`,
                all others; None, none. Nothing is deleted before everything is stored.
            on_error: What becomes of a document that fails, after model calls were tried
                again: `"raise"` ends the run; `"skip"` leaves its old version and goes on;
                `"copy"` indexes the chunks that a model failed for by their plain text (and
                skips what fails otherwise). What failed is in the report, and is tried again
                by the next run, also when the document did not change (with `force`, when
                it is forced again).
            progress: True for a bar, or a function that is called with an `IndexEvent` for
                each document.
            dry_run: Find out what would be done and what it would cost, and do nothing: no
                model of this package's transformers is asked, and nothing is written.
            max_deletes: How many documents the clean-up may delete: a number, or a share of
                what is stored, below 1.
            allow_empty: Let `"full"` delete everything where `docs` is empty.
            force: Do everything again, also for what did not change.
            sources: Sources that `docs` covers: those of them that it returns nothing of are
                cleaned up too.
            ignore_metadata: Metadata keys whose change is no change, such as `"mtime"`.
            batch_size: Documents that go through each step together (default 100).
            config: Callbacks, tags and concurrency for model calls. Each document has a run
                of its own, above those of its model calls.

        Returns:
            What was done, and what it took.

        Raises:
            InvalidDocumentError: A document cannot be stored.
            TransformerError: A transformer failed.
            ConcurrentWriteError: Another call is writing one of the documents.
            StoreError: A store did not do what its contract says.
            CleanupRefusedError: The clean-up would delete more than it may.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> from langchain_rag import RAGVectorStore
            >>> rag, _ = RAGVectorStore.from_vs_in_memory(
            ...     InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
            ... )
            >>> pages = [Document(f"Page {n}", metadata={"source": "book"}) for n in (1, 2)]
            >>> rag.index(pages).as_dict()
            {'num_added': 2, 'num_updated': 0, 'num_skipped': 0, 'num_deleted': 0}
            >>> pages = [Document("Page one", metadata={"source": "book"})]
            >>> rag.index(pages).as_dict()
            {'num_added': 0, 'num_updated': 1, 'num_skipped': 0, 'num_deleted': 1}
        """
        loading = Loading(docs)
        rules = self._rules(cleanup, max_deletes, sources, allow_empty=allow_empty)
        settings = self._index_settings(
            on_error, ignore_metadata, batch_size, config, dry_run=dry_run, force=force
        )
        with listening(progress, loading.total) as listener:
            flow = self._index(loading, settings, rules, listener)
            return run_together(flow, limit_of(settings.config))

    async def aindex(
        self,
        docs: Iterable[Document] | AsyncIterable[Document] | BaseLoader,
        *,
        cleanup: Cleanup = "scoped_full",
        on_error: OnError = "raise",
        progress: bool | Listener = False,
        dry_run: bool = False,
        max_deletes: float | None = None,
        allow_empty: bool = False,
        force: bool = False,
        sources: Iterable[str] | None = None,
        ignore_metadata: Collection[str] = (),
        batch_size: int | None = None,
        config: RunnableConfig | None = None,
    ) -> IndexReport:
        """Bring the store to what a loader returns; see `index`.

        `docs` may be an asynchronous generator too.
        """
        loading = Loading(docs)
        rules = self._rules(cleanup, max_deletes, sources, allow_empty=allow_empty)
        settings = self._index_settings(
            on_error, ignore_metadata, batch_size, config, dry_run=dry_run, force=force
        )
        with listening(progress, loading.total) as listener:
            flow = self._index(loading, settings, rules, listener)
            return await arun_together(flow, limit_of(settings.config))

    def index_kwargs(self, record_manager: RecordManager | None = None) -> dict[str, Any]:
        """Return what LangChain's `index()` and `aindex()` need beside the documents.

        Args:
            record_manager: Notes what `index()` has seen; its schema must be there. By
                default the constructor's.

        Returns:
            `record_manager`, which answers that a document exists only where it is also
            stored; `vector_store`, this one; `source_id_key`; and `key_encoder`, by which a
            change of a transformer that has a fingerprint is a change of the documents.

        Raises:
            ConfigurationError: No record manager is known.

        Example:
            >>> from langchain_core.documents import Document
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.indexing import index
            >>> from langchain_core.stores import InMemoryStore
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> from langchain_rag import RAGVectorStore
            >>> from langchain_rag.storage import InMemoryRecordManager
            >>> rag = RAGVectorStore(
            ...     vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
            ...     docstore=InMemoryStore(),
            ... )
            >>> pages = [Document("Numbers", metadata={"source": "numbers.md"})]
            >>> index_kwargs = rag.index_kwargs(InMemoryRecordManager("pages"))
            >>> index(pages, cleanup="scoped_full", **index_kwargs)["num_added"]
            1
        """
        records = checked_record_manager(record_manager) or self.record_manager
        if records is None:
            message = (
                "index() needs a record manager and none is known: give one to index_kwargs() "
                "or to the constructor, or make the store with from_vs_in_sql()."
            )
            raise ConfigurationError(message)
        return {
            "record_manager": StoredRecordManager(records, self._lifecycle),
            "vector_store": self,
            "source_id_key": self.source_id_key,
            "key_encoder": factories.key_encoder(self.fingerprints),
        }

    def _index(
        self,
        loading: Loading,
        settings: Settings,
        rules: CleanupRules,
        listener: Listener | None,
    ) -> Flow[IndexReport]:
        records = self.record_manager
        tracking = (
            TrackedByManifests(self._lifecycle)
            if records is None
            else TrackedByRecords(records)
        )
        usage = ModelUsage()
        counted = merge_configs(settings.config, {"callbacks": [usage]})
        run = Indexing(
            self._lifecycle,
            tracking,
            self.source_id_key,
            replace(settings, config=counted),
            rules=rules,
            listener=listener,
        )
        report = run.report
        tally = EmbeddingTally(refresh=settings.force)
        try:
            with tallying(tally):
                return (yield from run.run(loading))
        finally:
            if not report.dry_run:
                report.llm_calls = usage.calls
                report.input_tokens = usage.input_tokens
                report.output_tokens = usage.output_tokens
            report.embedding_cache_hits = tally.hits
            is_counted = isinstance(self.embeddings, CachedEmbeddings) and not report.dry_run
            if is_counted:
                report.embeddings = tally.embedded

    def _index_settings(
        self,
        on_error: OnError,
        ignore_metadata: Collection[str],
        batch_size: int | None,
        config: RunnableConfig | None,
        *,
        dry_run: bool,
        force: bool,
    ) -> Settings:
        if on_error not in {"raise", "skip", "copy"}:
            message = f"on_error is {on_error!r}; give 'raise', 'skip' or 'copy'."
            raise ConfigurationError(message)
        if isinstance(ignore_metadata, str):
            message = f"ignore_metadata is the text {ignore_metadata!r}; give a list of keys."
            raise ConfigurationError(message)
        return replace(
            self._settings(batch_size, config, {}, force=force),
            on_error=on_error,
            ignored=frozenset(ignore_metadata),
            dry_run=dry_run,
        )

    def _rules(
        self,
        cleanup: Cleanup,
        max_deletes: float | None,
        sources: Iterable[str] | None,
        *,
        allow_empty: bool,
    ) -> CleanupRules:
        if isinstance(sources, str):
            message = f"sources is the text {sources!r}; give a list of sources."
            raise ConfigurationError(message)
        named = frozenset(str(source) for source in sources or ())
        if named and (self.source_id_key is None or cleanup != "scoped_full"):
            why = (
                "the store was made with source_id_key=None and knows none"
                if self.source_id_key is None
                else f"cleanup={cleanup!r} does not go by sources"
            )
            message = f"sources was given, but {why}. Leave it out."
            raise ConfigurationError(message)
        return CleanupRules(cleanup, max_deletes, allow_empty, named)
