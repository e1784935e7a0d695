"""The vector store that indexes variations and returns chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import RecordManager
from langchain_core.runnables import RunnableConfig
from langchain_core.stores import BaseStore
from langchain_core.structured_query import FilterDirective
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from typing_extensions import override

from langchain_rag._flow import Flow, arun, run
from langchain_rag._flow.together import arun_together, run_together
from langchain_rag.caches.variations import VariationCache
from langchain_rag.embedding_cache import EmbeddingCache, wire
from langchain_rag.indexing.cleanup import Cleanup, CleanupRules
from langchain_rag.indexing.loading import Documents
from langchain_rag.indexing.run import index
from langchain_rag.lifecycle.importing import add_documents
from langchain_rag.lifecycle.index_report import IndexReport, Listener
from langchain_rag.lifecycle.settings import Defaults, OnError, Settings, Transformers
from langchain_rag.lifecycle.sources import SourceIdKey, check_ids, documents_of
from langchain_rag.lifecycle.stores import Stores
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.documents import get_by_ids
from langchain_rag.search.queries import Queries
from langchain_rag.vectorstores import factories
from langchain_rag.vectorstores.arguments import check_arguments
from langchain_rag.vectorstores.record_manager import (
    StoredRecordManager,
    checked_record_manager,
)

if TYPE_CHECKING:
    from langchain_core.structured_query import Visitor
    from sqlalchemy import URL, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from langchain_rag.audit import RepairReport, StatsReport, VerifyReport
    from langchain_rag.audit.scan import Parts
    from langchain_rag.retrievers import HybridRetriever, LexicalRetriever
    from langchain_rag.storage import FullText


class RAGVectorStore(VectorStore):
    """Wraps a vector store: searches variations of chunks, and returns the chunks.

    `from_vs_in_sql` and `from_vs_in_memory` make one, with what LangChain's `index()` needs.

    Each document that is added goes through `parent_transformer`, which cuts it into chunks,
    and each chunk through `chunk_transformer`, which makes what is embedded of it: questions
    it answers, a summary, smaller pieces, a copy. The wrapped store holds these variations,
    the docstore the chunks. A search asks the wrapped store for variations and returns the
    chunks they stand for: k distinct ones, best first, with the wrapped store's scores.

    A document that is added again under its id replaces the one before, chunk by chunk: what
    did not change is neither transformed nor embedded nor written again. While it changes,
    its whole old or its whole new version can be found; a call that fails or a process that
    dies leaves nothing behind that the next call does not clear.

    With a `SQLDocStore` any number of processes may write; two that write the same document
    at the same time get a `ConcurrentWriteError` for one of them. With any other docstore one
    process at a time may write to a namespace.

    Args:
        vectorstore: The store to wrap, of any kind. It must keep the ids it is given.
        docstore: Holds chunks and bookkeeping: `InMemoryStore`, `SQLDocStore`, or any byte
            store through `langchain_classic.storage.create_kv_docstore`.
        source_id_key: Metadata key of a document's source, which several documents may
            share, or a function that returns it; None for no sources.
        parent_transformer: Cuts documents into chunks; None keeps them whole.
        chunk_transformer: Makes the variations of a chunk; None searches the chunk itself.
        namespace: Separates several stores in one docstore and one collection.
        search_type: Default of `search` and `as_retriever`: `"similarity"`, `"mmr"` or
            `"similarity_score_threshold"`.
        search_kwargs: Defaults of every search (`k`, `filter`, `score_threshold`, ...). What
            a call says beats them.
        max_concurrency: Largest number of model calls at a time of one import.
        record_manager: What `index()` notes in; `index_kwargs`, `verify` and `repair` use it.
        variation_cache: Keeps what models answer, by prompt and text, as it arrives, so that
            no answer is paid for twice: `langchain_rag.storage.SQLVariationCache`, or
            `langchain_rag.document_transformers.ByteStoreVariationCache`. None keeps nothing.
        embedding_cache: Keeps the vectors of texts, so that no text is embedded twice:
            `langchain_rag.storage.SQLEmbeddingCache`, or
            `langchain_rag.embedding_cache.ByteStoreEmbeddingCache`. It is put around the
            embeddings of the wrapped store, in place, if they say which model they are; see
            `langchain_rag.embedding_cache`. None keeps nothing.

    Raises:
        ConfigurationError: An argument cannot work.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.stores import InMemoryStore
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> rag = RAGVectorStore(
        ...     vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
        ...     docstore=InMemoryStore(),
        ...     chunk_transformer=CharacterTextSplitter(
        ...         separator=" ", chunk_size=12, chunk_overlap=0
        ...     ),
        ... )
        >>> page = Document("Euclid wrote the Elements", metadata={"source": "euclid.md"})
        >>> rag.add_documents([page], ids=["euclid"])
        ['euclid']
        >>> [document.page_content for document in rag.similarity_search("Elements", k=1)]
        ['Euclid wrote the Elements']
    """

    def __init__(
        self,
        *,
        vectorstore: VectorStore,
        docstore: BaseStore[str, Document],
        source_id_key: SourceIdKey = "source",
        parent_transformer: BaseDocumentTransformer | None = None,
        chunk_transformer: BaseDocumentTransformer | None = None,
        namespace: str = "",
        search_type: str = "similarity",
        search_kwargs: dict[str, Any] | None = None,
        max_concurrency: int | None = 8,
        record_manager: RecordManager | None = None,
        variation_cache: VariationCache | None = None,
        embedding_cache: EmbeddingCache | None = None,
    ) -> None:
        check_arguments(
            search_type=search_type,
            max_concurrency=max_concurrency,
            source_id_key=source_id_key,
            transformers=(parent_transformer, chunk_transformer),
            variation_cache=variation_cache,
            embedding_cache=embedding_cache,
        )
        self._record_manager = checked_record_manager(record_manager)
        self._lifecycle = Lifecycle(
            Stores(vectorstore, docstore),
            Transformers(parent_transformer, chunk_transformer, namespace),
        )
        if embedding_cache is not None:
            wire(vectorstore, embedding_cache)
        self._embedding_cache = embedding_cache
        self._source_id_key: SourceIdKey = source_id_key
        self._defaults = Defaults(max_concurrency, variation_cache)
        self._search_type = search_type
        self._queries = Queries(self._lifecycle, dict(search_kwargs or {}))

    @classmethod
    @override
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        vectorstore: VectorStore | None = None,
        docstore: BaseStore[str, Document] | None = None,
        source_id_key: SourceIdKey = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store and import texts.

        Args:
            texts: The texts.
            embedding: For the wrapped store, where none is given.
            metadatas: One for each text.
            ids: Document ids, one for each text.
            vectorstore: The store to wrap; an `InMemoryVectorStore` by default.
            docstore: The store of the chunks; an `InMemoryStore` by default.
            source_id_key: As in the constructor, but None by default, since plain texts have
                no source.
            **kwargs: Further arguments of the constructor.

        Returns:
            The store.
        """
        stores = factories.stores_of(embedding, vectorstore, docstore)
        rag = cls(**stores, source_id_key=source_id_key, **kwargs)
        rag.add_texts(texts, metadatas, ids=ids)
        return rag

    @classmethod
    @override
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        vectorstore: VectorStore | None = None,
        docstore: BaseStore[str, Document] | None = None,
        source_id_key: SourceIdKey = None,
        **kwargs: Any,
    ) -> Self:
        """Async form of `from_texts`."""
        stores = factories.stores_of(embedding, vectorstore, docstore)
        rag = cls(**stores, source_id_key=source_id_key, **kwargs)
        await rag.aadd_texts(texts, metadatas, ids=ids)
        return rag

    @classmethod
    def from_vs_in_memory(
        cls, vectorstore: VectorStore, **kwargs: Any
    ) -> tuple[Self, dict[str, Any]]:
        """Wrap a store, and keep chunks and records in memory.

        Args:
            vectorstore: The store to wrap.
            **kwargs: Further arguments of the constructor.

        Returns:
            The store, and the arguments of `index()` and `aindex()` that go with it:
            `record_manager`, `vector_store`, `source_id_key` and `key_encoder`.

        Example:
            >>> from langchain_core.documents import Document
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.indexing import index
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> from langchain_rag import RAGVectorStore
            >>> rag, index_kwargs = RAGVectorStore.from_vs_in_memory(
            ...     InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
            ... )
            >>> pages = [Document("Numbers", metadata={"source": "numbers.md"})]
            >>> result = index(pages, cleanup="scoped_full", **index_kwargs)
            >>> result["num_added"], result["num_skipped"]
            (1, 0)
        """
        parts = factories.parts_in_memory(kwargs)
        rag = cls(vectorstore=vectorstore, **parts, **kwargs)
        return rag, rag.index_kwargs()

    @classmethod
    def from_vs_in_sql(
        cls,
        vectorstore: VectorStore,
        *,
        db_url: str | URL | None = None,
        engine: Engine | AsyncEngine | None = None,
        namespace: str = "",
        full_text: FullText | str | None = "english",
        **kwargs: Any,
    ) -> tuple[Self, dict[str, Any]]:
        """Wrap a store, and keep chunks, records, answers and vectors in an SQL database.

        Tables are made when they are first needed. With a synchronous engine `index()` and
        `aindex()` both work; with an asynchronous one `aindex()` does.

        Args:
            vectorstore: The store to wrap.
            db_url: Where the database is, for example `sqlite:///rag.db`. Or:
            engine: An engine, which may hold tables of yours as well.
            namespace: Separates several stores in one database.
            full_text: The language of the texts, or a `FullText`, for the full-text index
                behind `as_lexical_retriever` and `as_hybrid_retriever`; None for no index.
            **kwargs: Further arguments of the constructor. `variation_cache=None` keeps no
                answers of models, `embedding_cache=None` no vectors.

        Returns:
            The store, and the arguments of `index()` and `aindex()` that go with it:
            `record_manager`, `vector_store`, `source_id_key` and `key_encoder`.

        Raises:
            ConfigurationError: Not exactly one of `db_url` and `engine` was given, or there
                is no stemmer for the language.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> from langchain_rag import RAGVectorStore
            >>> rag, index_kwargs = RAGVectorStore.from_vs_in_sql(
            ...     InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
            ...     db_url="sqlite://",
            ... )
            >>> rag.add_texts(["Numbers"], [{"source": "numbers.md"}], ids=["numbers"])
            ['numbers']
        """
        shared = factories.engine_of(db_url, engine)
        parts = factories.parts_in_sql(vectorstore, shared, namespace, full_text, kwargs)
        rag = cls(vectorstore=vectorstore, **parts, **kwargs)
        return rag, rag.index_kwargs()

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
        settings = self._defaults.settings(batch_size, config, force=force, options=kwargs)
        flow = add_documents(self._lifecycle, documents, ids, self._source_id_key, settings)
        return run_together(flow, settings.limit)

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
        """Async form of `add_documents`."""
        settings = self._defaults.settings(batch_size, config, force=force, options=kwargs)
        flow = add_documents(self._lifecycle, documents, ids, self._source_id_key, settings)
        return await arun_together(flow, settings.limit)

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
        return self.add_documents(documents_of(texts, metadatas), ids=ids, **kwargs)

    @override
    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Async form of `add_texts`."""
        return await self.aadd_documents(documents_of(texts, metadatas), ids=ids, **kwargs)

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
        rules = CleanupRules.of(
            cleanup, max_deletes, sources, self._source_id_key, allow_empty=allow_empty
        )
        settings = self._defaults.settings(
            batch_size,
            config,
            force=force,
            on_error=on_error,
            ignore_metadata=ignore_metadata,
            dry_run=dry_run,
        )
        flow = self._index(docs, settings, rules, progress)
        return run_together(flow, settings.limit)

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
        """Async form of `index`; `docs` may be an asynchronous generator too."""
        rules = CleanupRules.of(
            cleanup, max_deletes, sources, self._source_id_key, allow_empty=allow_empty
        )
        settings = self._defaults.settings(
            batch_size,
            config,
            force=force,
            on_error=on_error,
            ignore_metadata=ignore_metadata,
            dry_run=dry_run,
        )
        flow = self._index(docs, settings, rules, progress)
        return await arun_together(flow, settings.limit)

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
        return {
            "record_manager": StoredRecordManager.over(records, self._lifecycle),
            "vector_store": self,
            "source_id_key": self.source_id_key,
            "key_encoder": factories.key_encoder(self.fingerprints),
        }

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
        run(self._lifecycle.delete(check_ids(ids)))
        return True

    @override
    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Async form of `delete`."""
        await arun(self._lifecycle.delete(check_ids(ids)))
        return True

    @override
    def search(
        self, query: str, search_type: str | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find chunks by one of the search types.

        Args:
            query: A text.
            search_type: `"similarity"`, `"mmr"` or `"similarity_score_threshold"`; by
                default the constructor's.
            **kwargs: Arguments of that search.

        Returns:
            Distinct chunks, best first.
        """
        return super().search(query, search_type or self._search_type, **kwargs)

    @override
    async def asearch(
        self, query: str, search_type: str | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async form of `search`."""
        return await super().asearch(query, search_type or self._search_type, **kwargs)

    @override
    def similarity_search(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the chunks nearest to a text.

        Args:
            query: A text.
            k: Distinct chunks wanted (default 4); none for 0 or less.
            **kwargs: Further arguments of the wrapped store's search, such as `filter`, which
                sees what is flat in the user's metadata, and `transformer`; and ours, which
                every search takes: `kinds` and `except_kinds` of variation, `within` (document
                ids), `match_details`, `return_documents`, `aggregation` (`"best"` or
                `"rank_sum"`).

        Returns:
            k distinct chunks, best first; fewer only where no more exist.
        """
        return run(self._queries.similarity(query, k, kwargs))

    @override
    async def asimilarity_search(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async form of `similarity_search`."""
        return await arun(self._queries.similarity(query, k, kwargs))

    @override
    def similarity_search_with_score(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the chunks nearest to a text, with scores; see `similarity_search`.

        Returns:
            Chunks, best first, each with the wrapped store's own score of its best variation:
            a distance or a similarity, as that store has it.
        """
        return run(self._queries.scored(query, k, kwargs))

    @override
    async def asimilarity_search_with_score(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Async form of `similarity_search_with_score`."""
        return await arun(self._queries.scored(query, k, kwargs))

    @override
    def similarity_search_with_relevance_scores(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the chunks nearest to a text, with relevances; see `similarity_search`.

        Args:
            query: A text.
            k: Distinct chunks wanted (default 4).
            **kwargs: `score_threshold`, the least relevance that counts, from 0 to 1; and
                further arguments of the wrapped store's search.

        Returns:
            Chunks, best first, each with the relevance of its best variation.
        """
        k, kwargs = self._queries.with_threshold(k, kwargs)
        return super().similarity_search_with_relevance_scores(query, k, **kwargs)

    @override
    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Async form of `similarity_search_with_relevance_scores`."""
        k, kwargs = self._queries.with_threshold(k, kwargs)
        return await super().asimilarity_search_with_relevance_scores(query, k, **kwargs)

    @override
    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return run(self._queries.relevant(query, k, kwargs))

    @override
    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await arun(self._queries.relevant(query, k, kwargs))

    @override
    def similarity_search_by_vector(
        self, embedding: list[float], k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the chunks nearest to an embedding; see `similarity_search`."""
        return run(self._queries.by_vector(embedding, k, kwargs))

    @override
    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async form of `similarity_search_by_vector`."""
        return await arun(self._queries.by_vector(embedding, k, kwargs))

    @override
    def max_marginal_relevance_search(
        self,
        query: str,
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find chunks that are near a text and unlike each other.

        Maximal marginal relevance (Carbonell and Goldstein, 1998) among chunks, each by the
        vector of its best variation. The wrapped store need not know it.

        Args:
            query: A text.
            k: Distinct chunks wanted (default 4).
            fetch_k: Chunks to choose among (default 20).
            lambda_mult: 1 weighs nearness only, 0 difference only (default 0.5).
            **kwargs: Further arguments of the wrapped store's search.

        Returns:
            Distinct chunks, in the order in which they were chosen.

        Raises:
            ConfigurationError: The wrapped store does not say what it embeds with.
        """
        return run(self._queries.diverse(query, k, fetch_k, lambda_mult, kwargs))

    @override
    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Async form of `max_marginal_relevance_search`."""
        return await arun(self._queries.diverse(query, k, fetch_k, lambda_mult, kwargs))

    @override
    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find near and unlike chunks; see `max_marginal_relevance_search`."""
        flow = self._queries.diverse_by_vector(embedding, k, fetch_k, lambda_mult, kwargs)
        return run(flow)

    @override
    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Async form of `max_marginal_relevance_search_by_vector`."""
        flow = self._queries.diverse_by_vector(embedding, k, fetch_k, lambda_mult, kwargs)
        return await arun(flow)

    @override
    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Make a retriever of chunks.

        Args:
            **kwargs: Fields of `VectorStoreRetriever`: `search_type` and `search_kwargs`,
                which are laid over the constructor's, `tags`, `metadata`, ...

        Returns:
            The retriever.
        """
        fields = self._queries.retriever_fields(self._search_type, kwargs)
        return super().as_retriever(**fields)

    def as_lexical_retriever(
        self,
        k: int = 4,
        filter: FilterDirective | dict[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> LexicalRetriever:
        """Make a retriever of chunks by their words (BM25).

        The docstore is a `SQLDocStore` with `full_text`, as `from_vs_in_sql` makes it; over
        any other docstore an index is kept in memory, which takes bm25s
        (`pip install 'langchain-rag[lexical]'`).

        Args:
            k: Chunks wanted.
            filter: Which chunks count: a `Comparison` or `Operation` of LangChain's structured
                queries, or a dict of metadata keys and the values that they must have.
            **kwargs: Further fields of `LexicalRetriever`, `tags` and `metadata` among them.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: The docstore cannot be searched by words.
        """
        from langchain_rag.retrievers import LexicalRetriever  # noqa: PLC0415 - cheap imports

        tags = self._tags(kwargs.pop("tags", None))
        return LexicalRetriever(vectorstore=self, k=k, filter=filter, tags=tags, **kwargs)

    def as_hybrid_retriever(
        self,
        k: int = 4,
        weights: tuple[float, float] = (0.5, 0.5),
        c: float = 60,
        filter: FilterDirective | dict[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> HybridRetriever:
        """Make a retriever of chunks by words and vectors, fused by rank.

        Args:
            k: Chunks wanted.
            weights: Of the vectors, and of the words.
            c: How little the first ranks count more than those after them.
            filter: Which chunks count; see `as_lexical_retriever`.
            **kwargs: Further fields of `HybridRetriever`, `tags` and `metadata` among them.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: The docstore cannot be searched by words, or there is no
                translator of filters for the wrapped store.
        """
        from langchain_rag.retrievers import HybridRetriever  # noqa: PLC0415 - cheap imports

        tags = self._tags(kwargs.pop("tags", None))
        return HybridRetriever(
            vectorstore=self, k=k, weights=weights, c=c, filter=filter, tags=tags, **kwargs
        )

    def structured_query_translator(self) -> Visitor:
        """Return the translator of structured queries to the wrapped store's filters.

        Returns:
            A visitor for `SelfQueryRetriever(structured_query_translator=...)`.

        Raises:
            NoTranslatorError: There is none for the wrapped store.
        """
        from langchain_rag.structured_query import translator_for  # noqa: PLC0415

        return translator_for(self)

    @override
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Read documents or chunks without a search.

        Args:
            ids: Document ids, which give all chunks of a document in reading order, and ids
                of chunks, in any mix.

        Returns:
            The chunks, in the order of the ids. Unknown ids give nothing.
        """
        return run(get_by_ids(self._lifecycle, ids))

    @override
    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Async form of `get_by_ids`."""
        return await arun(get_by_ids(self._lifecycle, ids))

    def verify(self, *, record_manager: RecordManager | None = None) -> VerifyReport:
        """Check that both stores, and what `index()` noted, agree.

        Reads every record of the namespace, changes nothing, and may run while documents are
        written: what looks wrong is looked at twice, and documents that a call is writing are
        left out.

        Args:
            record_manager: What `index()` notes in; by default the constructor's.

        Returns:
            What is wrong; it prints as a table.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.stores import InMemoryStore
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> from langchain_rag import RAGVectorStore
            >>> vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
            >>> rag = RAGVectorStore(
            ...     vectorstore=vectors, docstore=InMemoryStore(), source_id_key=None
            ... )
            >>> rag.add_texts(["Euclid wrote the Elements"], ids=["euclid"])
            ['euclid']
            >>> rag.verify().ok
            True
            >>> vectors.store.clear()
            >>> [(finding.kind.value, finding.document_id) for finding in rag.verify().findings]
            [('missing row', 'euclid')]
            >>> report = rag.repair()
            >>> report.rows_written, report.llm_calls, rag.verify().ok
            (1, 0, True)
        """
        from langchain_rag.audit.verify import verify  # noqa: PLC0415 - seldom needed

        return run(verify(self._parts(record_manager)))

    async def averify(self, *, record_manager: RecordManager | None = None) -> VerifyReport:
        """Async form of `verify`."""
        from langchain_rag.audit.verify import verify  # noqa: PLC0415 - seldom needed

        return await arun(verify(self._parts(record_manager)))

    def repair(
        self, *, record_manager: RecordManager | None = None, unknown_rows: bool = False
    ) -> RepairReport:
        """Repair what `verify` finds, without a call of a model.

        Missing rows are embedded again from the stored texts, and what belongs to no document
        goes. Where a text is lost, the chunk is taken out, and the next import of its
        document makes that chunk again; `index()` does so by itself. Documents of foreign
        fingerprints stay as they are.

        Rows of documents of which the docstore knows nothing are left, and reported: another
        database may use the same collection with the same namespace. They are also what is
        left of texts that changed after a docstore was lost: `index()` gives a changed text
        another id, so the old id is unknown to the new docstore.

        It may be interrupted and repeated, and may run while other documents are written.

        Args:
            record_manager: What `index()` notes in; by default the constructor's.
            unknown_rows: Whether to delete these rows too. Only for a collection, or a
                namespace of it, that no other database uses.

        Returns:
            What was done; it prints as a table.

        Raises:
            StoreError: A store did not do what its contract says.
        """
        from langchain_rag.audit.repair import repair  # noqa: PLC0415 - seldom needed

        return run(repair(self._parts(record_manager), unknown_rows=unknown_rows))

    async def arepair(
        self, *, record_manager: RecordManager | None = None, unknown_rows: bool = False
    ) -> RepairReport:
        """Async form of `repair`."""
        from langchain_rag.audit.repair import repair  # noqa: PLC0415 - seldom needed

        return await arun(repair(self._parts(record_manager), unknown_rows=unknown_rows))

    def stats(self) -> StatsReport:
        """Count documents, chunks, variations and rows.

        Returns:
            The numbers; they print as a table.
        """
        from langchain_rag.audit.stats import stats  # noqa: PLC0415 - seldom needed

        return run(stats(self._parts()))

    async def astats(self) -> StatsReport:
        """Async form of `stats`."""
        from langchain_rag.audit.stats import stats  # noqa: PLC0415 - seldom needed

        return await arun(stats(self._parts()))

    @property
    def vectorstore(self) -> VectorStore:
        """The wrapped store, which holds the variations."""
        return self._lifecycle.stores.vectorstore

    @property
    def docstore(self) -> BaseStore[str, Document]:
        """The store of the chunks."""
        return self._lifecycle.stores.docstore

    @property
    @override
    def embeddings(self) -> Embeddings | None:
        return self.vectorstore.embeddings

    @property
    def record_manager(self) -> RecordManager | None:
        """What notes which documents `index()` has seen, None where it is not known."""
        return self._record_manager

    @property
    def source_id_key(self) -> SourceIdKey:
        """Where a document's source is."""
        return self._source_id_key

    @property
    def variation_cache(self) -> VariationCache | None:
        """What models answered, kept; None where nothing is."""
        return self._defaults.variation_cache

    @property
    def embedding_cache(self) -> EmbeddingCache | None:
        """Vectors of texts, kept; None where none are."""
        return self._embedding_cache

    @property
    def fingerprints(self) -> tuple[str | None, str | None]:
        """Identity of the `parent_transformer` and of the `chunk_transformer`.

        None for one whose identity cannot be relied on; what it made is made again whenever
        its document is added.
        """
        return self._lifecycle.transformers.fingerprints

    @override
    def __repr__(self) -> str:
        # Class names only: a store's own repr may hold credentials.
        parts = self._lifecycle.transformers
        parent, chunk = (type(one).__name__ for one in (parts.parent, parts.chunk))
        return (
            f"{type(self).__name__}(vectorstore={type(self.vectorstore).__name__}, "
            f"docstore={type(self.docstore).__name__}, parent_transformer={parent}, "
            f"chunk_transformer={chunk}, namespace={parts.namespace!r})"
        )

    def _index(
        self,
        docs: Documents,
        settings: Settings,
        rules: CleanupRules,
        progress: bool | Listener,
    ) -> Flow[IndexReport]:
        return index(
            self._lifecycle,
            docs,
            self.record_manager,
            self.source_id_key,
            settings,
            rules=rules,
            progress=progress,
        )

    def _parts(self, record_manager: RecordManager | None = None) -> Parts:
        """Return what an audit looks at."""
        from langchain_rag.audit.scan import Parts  # noqa: PLC0415 - seldom needed

        given = checked_record_manager(record_manager)
        return Parts(self._lifecycle, given or self.record_manager)

    def _tags(self, tags: list[str] | None) -> list[str]:
        """Return a retriever's tags, LangChain's for this store among them."""
        return [*(tags or []), *self._get_retriever_tags()]
