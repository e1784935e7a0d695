"""Making a store with all that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import BaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from typing_extensions import override

from langchain_rag.lifecycle.sources import SourceIdKey
from langchain_rag.vectorstores import factories
from langchain_rag.vectorstores._indexing import IndexingMixin

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from langchain_rag.storage import FullText


class MakingMixin(IndexingMixin):
    """The class methods of `RAGVectorStore` that make one."""

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
            >>> from langchain_rag import RAGVectorStore
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
        docstore, record_manager = factories.sql_parts(db_url, engine, namespace, full_text)
        kwargs.setdefault("record_manager", record_manager)
        kwargs.setdefault("variation_cache", factories.sql_cache(docstore.engine, namespace))
        if "embedding_cache" not in kwargs:
            kwargs["embedding_cache"] = factories.sql_embedding_cache(
                vectorstore, docstore.engine, namespace
            )
        rag = cls(vectorstore=vectorstore, docstore=docstore, namespace=namespace, **kwargs)
        return rag, rag.index_kwargs()
