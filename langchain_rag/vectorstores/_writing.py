"""Adding and deleting documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from typing_extensions import override

from langchain_rag._flow import Flow, arun, run
from langchain_rag._flow.together import arun_together, run_together
from langchain_rag.document_transformers.base import limit_of
from langchain_rag.document_transformers.remembering import REFRESH, VARIATION_CACHE
from langchain_rag.embedding_cache import EmbeddingTally, tallying
from langchain_rag.errors import ConfigurationError, InvalidDocumentError
from langchain_rag.lifecycle.importing import Importer
from langchain_rag.lifecycle.recording import Recorder
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import check_documents, check_id, check_list
from langchain_rag.vectorstores._base import BaseRAGVectorStore

_BATCH_SIZE: Final = 100


class WritingMixin(BaseRAGVectorStore):
    """The methods of `RAGVectorStore` that write."""

    @override
    def add_documents(
        self,
        documents: list[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        config: RunnableConfig | None = None,
        force: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """Import documents, new or changed.

        Args:
            documents: The documents. They are not changed.
            ids: Document ids; without them a document's own id, else one derived from its
                source, text and metadata.
            batch_size: Documents that go through the transformers and stores together
                (default 100). Batches before one that fails are stored.
            config: Callbacks, tags and concurrency for the transformers' model calls.
            force: Do everything again, also for what did not change.
            **kwargs: Further arguments of the wrapped store's `add_documents`.

        Returns:
            One document id for each document, in their order.

        Raises:
            InvalidDocumentError: A document cannot be stored; nothing was written.
            TransformerError: A transformer failed; the batch is stored as it was before.
            ConcurrentWriteError: Another call is writing one of them.
            StoreError: A store did not do what its contract says.
        """
        settings = self._settings(batch_size, config, kwargs, force=force)
        flow = self._add(documents, ids, settings)
        return run_together(flow, limit_of(settings.config))

    @override
    async def aadd_documents(
        self,
        documents: list[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        config: RunnableConfig | None = None,
        force: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """Import documents; see `add_documents`."""
        settings = self._settings(batch_size, config, kwargs, force=force)
        flow = self._add(documents, ids, settings)
        return await arun_together(flow, limit_of(settings.config))

    @override
    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Import texts; see `add_documents`.

        Args:
            texts: The texts.
            metadatas: One for each text.
            ids: Document ids, one for each text.
            **kwargs: Further arguments of `add_documents`.

        Returns:
            One document id for each text, in their order.

        Raises:
            InvalidDocumentError: As many metadatas as texts are needed; or see there.
        """
        return self.add_documents(_to_documents(texts, metadatas), ids=ids, **kwargs)

    @override
    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Import texts; see `add_texts`."""
        return await self.aadd_documents(_to_documents(texts, metadatas), ids=ids, **kwargs)

    @override
    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents, with their chunks and variations.

        Args:
            ids: Document ids; unknown ones are no error. None deletes every document of the
                namespace, as LangChain's interface says.
            **kwargs: Not used.

        Returns:
            True.

        Raises:
            ConcurrentWriteError: Another call is writing one of them.
            StoreError: A store did not do what its contract says.
        """
        return run(self._delete(ids))

    @override
    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents; see `delete`."""
        return await arun(self._delete(ids))

    def _add(
        self,
        documents: Iterable[Document],
        ids: Sequence[str | None] | None,
        settings: Settings,
    ) -> Flow[list[str]]:
        sources = check_documents(list(documents), ids, self._source_id_key)
        with tallying(EmbeddingTally(refresh=True)) if settings.force else nullcontext():
            yield from Importer(self._lifecycle, settings, Recorder()).add(sources)
        return [source.document_id for source in sources]

    def _settings(
        self,
        batch_size: int | None,
        config: RunnableConfig | None,
        options: dict[str, Any],
        *,
        force: bool,
    ) -> Settings:
        size = _BATCH_SIZE if batch_size is None else batch_size
        if size < 1:
            message = f"batch_size is {batch_size}; it must be 1 or more."
            raise ConfigurationError(message)
        merged = RunnableConfig(**(config or {}))
        if self._max_concurrency is not None:
            merged.setdefault("max_concurrency", self._max_concurrency)
        configurable = dict(merged.get("configurable") or {})
        if self.variation_cache is not None:
            configurable.setdefault(VARIATION_CACHE, self.variation_cache)
        if force:
            configurable[REFRESH] = True
        if configurable:
            merged["configurable"] = configurable
        return Settings(size, merged, force, options)

    def _delete(self, ids: Sequence[str] | None) -> Flow[bool]:
        check_list(ids)
        checked = None if ids is None else [check_id(id_) for id_ in ids]
        yield from self._lifecycle.delete(checked, _BATCH_SIZE)
        return True


def _to_documents(
    texts: Iterable[str], metadatas: Sequence[dict[str, Any] | None] | None
) -> list[Document]:
    listed = list(texts)
    # None is no metadata, and so is an empty list, as everywhere in LangChain.
    given = (
        [one or {} for one in metadatas] if metadatas else [dict[str, Any]() for _ in listed]
    )
    if len(given) != len(listed):
        message = (
            f"{len(given)} metadatas were given for {len(listed)} texts. "
            "Give one for each text, or none at all."
        )
        raise InvalidDocumentError(message)
    return [
        Document(page_content=text, metadata=metadata or {})
        for text, metadata in zip(listed, given, strict=True)
    ]
