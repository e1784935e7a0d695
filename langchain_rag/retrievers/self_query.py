"""Self-query: a model turns a question into a query and a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from langchain_classic.retrievers.self_query.base import (
    SelfQueryRetriever as _SelfQueryRetriever,
)
from pydantic import model_validator
from typing_extensions import override

from langchain_rag.structured_query import translator_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_classic.chains.query_constructor.schema import AttributeInfo
    from langchain_core.language_models import BaseLanguageModel
    from langchain_core.structured_query import Visitor
    from langchain_core.vectorstores import VectorStore


class SelfQueryRetriever(_SelfQueryRetriever):
    """LangChain's `SelfQueryRetriever`, with a look-up of the translator that works.

    LangChain's own imports the classes of all stores that it knows, some of which the
    community package no longer has. This one asks
    `langchain_rag.structured_query.translator_for`, which looks through `RAGVectorStore` as
    well. A `structured_query_translator=` that is given is used as it is.

    Reading what the model answers needs the package `lark`.

    Example:
        >>> import json
        >>> from langchain_classic.chains.query_constructor.schema import AttributeInfo
        >>> from langchain_core.documents import Document
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        >>> _ = store.add_documents([
        ...     Document("Euler", metadata={"born": 1707}),
        ...     Document("Noether", metadata={"born": 1882}),
        ... ])
        >>> answer = json.dumps({"query": "lives", "filter": 'gt("born", 1800)'})
        >>> retriever = SelfQueryRetriever.from_llm(
        ...     FakeListChatModel(responses=[answer]),
        ...     store,
        ...     "Lives of mathematicians",
        ...     [AttributeInfo(name="born", description="Year of birth", type="integer")],
        ... )
        >>> [document.page_content for document in retriever.invoke("born after 1800?")]
        ['Noether']
    """

    # The name is LangChain's, so that this takes the place of the validator there.
    @model_validator(mode="before")
    @classmethod
    @override
    def validate_translator(cls, values: dict[str, Any]) -> Any:
        """Look the translator up if none is given."""
        if values.get("structured_query_translator") is None and "vectorstore" in values:
            translator = translator_for(values["vectorstore"])
            return {**values, "structured_query_translator": translator}
        return values

    @classmethod
    @override
    def from_llm(
        cls,
        llm: BaseLanguageModel[Any],
        vectorstore: VectorStore,
        document_contents: str,
        metadata_field_info: Sequence[AttributeInfo | dict[str, Any]],
        structured_query_translator: Visitor | None = None,
        chain_kwargs: dict[str, Any] | None = None,
        enable_limit: bool = False,
        use_original_query: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Make a retriever whose queries a model writes.

        Args:
            llm: The model.
            vectorstore: The store to search, wrapped or not.
            document_contents: What the documents are about, for the prompt.
            metadata_field_info: What can be filtered on, for the prompt.
            structured_query_translator: The translator; by default the store's.
            chain_kwargs: Further arguments of `load_query_constructor_runnable`.
            enable_limit: Whether the model may say how many documents are wanted.
            use_original_query: Whether to search by the question rather than by the query
                that the model makes of it.
            **kwargs: Further fields of the retriever, such as `search_type`.

        Returns:
            The retriever.

        Raises:
            NoTranslatorError: If no translator is given, and the store has none.
        """
        retriever: object = super().from_llm(  # pyright: ignore[reportUnknownMemberType]
            llm,
            vectorstore,
            document_contents,
            metadata_field_info,
            structured_query_translator or translator_for(vectorstore),
            dict(chain_kwargs or {}),  # LangChain's writes into it
            enable_limit,
            use_original_query,
            **kwargs,
        )
        assert isinstance(retriever, cls)  # noqa: S101 - its annotation says the base class
        return retriever
