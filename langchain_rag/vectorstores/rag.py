"""The vector store that indexes variations and returns chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import RecordManager
from langchain_core.stores import BaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from typing_extensions import override

from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.sources import SourceIdKey
from langchain_rag.vectorstores import factories
from langchain_rag.vectorstores._auditing import AuditingMixin
from langchain_rag.vectorstores._base import checked_record_manager
from langchain_rag.vectorstores._searching import SearchingMixin
from langchain_rag.vectorstores._writing import WritingMixin
from langchain_rag.vectorstores.record_manager import StoredRecordManager

if TYPE_CHECKING:
    from langchain_core.structured_query import Visitor
    from sqlalchemy import URL, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine


class RAGVectorStore(WritingMixin, SearchingMixin, AuditingMixin):
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

    def structured_query_translator(self) -> Visitor:
        """Return the translator of structured queries to the wrapped store's filters.

        Returns:
            A visitor for `SelfQueryRetriever(structured_query_translator=...)`.

        Raises:
            NoTranslatorError: There is none for the wrapped store.
        """
        from langchain_rag.structured_query import translator_for  # noqa: PLC0415

        return translator_for(self.vectorstore)

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
        rag = cls._from(embedding, vectorstore, docstore, source_id_key, kwargs)
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
        """Make a store and import texts; see `from_texts`."""
        rag = cls._from(embedding, vectorstore, docstore, source_id_key, kwargs)
        await rag.aadd_texts(texts, metadatas, ids=ids)
        return rag

    @classmethod
    def _from(
        cls,
        embedding: Embeddings,
        vectorstore: VectorStore | None,
        docstore: BaseStore[str, Document] | None,
        source_id_key: SourceIdKey,
        kwargs: dict[str, Any],
    ) -> Self:
        return cls(
            vectorstore=InMemoryVectorStore(embedding) if vectorstore is None else vectorstore,
            docstore=InMemoryStore() if docstore is None else docstore,
            source_id_key=source_id_key,
            **kwargs,
        )

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
            >>> rag, index_kwargs = RAGVectorStore.from_vs_in_memory(
            ...     InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
            ... )
            >>> pages = [Document("Numbers", metadata={"source": "numbers.md"})]
            >>> result = index(pages, cleanup="scoped_full", **index_kwargs)
            >>> result["num_added"], result["num_skipped"]
            (1, 0)
        """
        records = factories.record_manager_in_memory(kwargs.get("namespace", ""))
        kwargs.setdefault("record_manager", records)
        rag = cls(vectorstore=vectorstore, docstore=InMemoryStore(), **kwargs)
        return rag, rag.index_kwargs()

    @classmethod
    def from_vs_in_sql(
        cls,
        vectorstore: VectorStore,
        *,
        db_url: str | URL | None = None,
        engine: Engine | AsyncEngine | None = None,
        namespace: str = "",
        **kwargs: Any,
    ) -> tuple[Self, dict[str, Any]]:
        """Wrap a store, and keep chunks, records and models' answers in an SQL database.

        Tables are made when they are first needed. With a synchronous engine `index()` and
        `aindex()` both work; with an asynchronous one `aindex()` does.

        Args:
            vectorstore: The store to wrap.
            db_url: Where the database is, for example `sqlite:///rag.db`. Or:
            engine: An engine, which may hold tables of yours as well.
            namespace: Separates several stores in one database.
            **kwargs: Further arguments of the constructor. `variation_cache=None` keeps no
                answers.

        Returns:
            The store, and the arguments of `index()` and `aindex()` that go with it:
            `record_manager`, `vector_store`, `source_id_key` and `key_encoder`.

        Raises:
            ConfigurationError: Not exactly one of `db_url` and `engine` was given.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> rag, index_kwargs = RAGVectorStore.from_vs_in_sql(
            ...     InMemoryVectorStore(DeterministicFakeEmbedding(size=8)),
            ...     db_url="sqlite://",
            ... )
            >>> rag.add_texts(["Numbers"], [{"source": "numbers.md"}], ids=["numbers"])
            ['numbers']
        """
        docstore, record_manager = factories.sql_parts(db_url, engine, namespace)
        kwargs.setdefault("record_manager", record_manager)
        kwargs.setdefault("variation_cache", factories.sql_cache(docstore.engine, namespace))
        rag = cls(vectorstore=vectorstore, docstore=docstore, namespace=namespace, **kwargs)
        return rag, rag.index_kwargs()
