"""Self-query: a model turns a question into a query and a filter."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self, cast

from langchain_classic.retrievers.self_query.base import (
    SelfQueryRetriever as _SelfQueryRetriever,
)
from langchain_core.documents import Document
from langchain_core.structured_query import StructuredQuery
from pydantic import Field, model_validator
from typing_extensions import override

from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.errors import ConfigurationError
from langchain_rag.search.access import defaults_of
from langchain_rag.structured_query import Translator, translator_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_classic.chains.query_constructor.schema import AttributeInfo
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.language_models import BaseLanguageModel
    from langchain_core.structured_query import Visitor
    from langchain_core.vectorstores import VectorStore

logger = logging.getLogger(__name__)


class SelfQueryRetriever(_SelfQueryRetriever):
    """LangChain's `SelfQueryRetriever`, with a look-up of the translator that works.

    LangChain's own imports the classes of all stores that it knows, some of which the
    community package no longer has. This one asks
    `langchain_rag.structured_query.translator_for`, which looks through `RAGVectorStore` as
    well. A `structured_query_translator=` that is given is used as it is.

    Where the model fails, where what it answers cannot be read, or where the store has no such
    filter, plain search answers the question as it was asked, with `search_kwargs`, and the log
    has a warning. A failure of the store is raised. A filter in `search_kwargs` holds beside
    the one that the model writes.

    Reading what the model answers needs the package `lark`.

    Attributes:
        fallback: Whether plain search answers where there is no filter to search with.

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

    search_kwargs: dict[str, Any] = Field(default_factory=dict[str, Any])
    fallback: bool = True

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

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return run(self._answer(query, {"callbacks": run_manager.get_child()}, kwargs))

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return await arun(self._answer(query, {"callbacks": run_manager.get_child()}, kwargs))

    def _answer(
        self, query: str, config: dict[str, Any], given: dict[str, Any]
    ) -> Flow[list[Document]]:
        # A filter of the store's own must not give way to the model's.
        options = {**defaults_of(self.vectorstore), **self.search_kwargs, **given}
        text, found_options = yield from self._prepared(query, config, options)
        search, asearch = self.vectorstore.search, self.vectorstore.asearch
        return (yield from call(search, asearch, text, self.search_type, **found_options))

    def _prepared(
        self, query: str, config: dict[str, Any], options: dict[str, Any]
    ) -> Flow[tuple[str, dict[str, Any]]]:
        """Ask the model what to search for, and with which arguments."""
        constructor: Any = cast("Any", self.query_constructor)  # pyright: ignore[reportUnknownMemberType]
        try:
            asked = yield from call(
                constructor.invoke, constructor.ainvoke, {"query": query}, config=config
            )
            if self.verbose:
                logger.info("The model made %s of %r.", asked, query)
            return self._translated(query, asked, options)
        except Exception as error:
            if not self.fallback:
                raise
            # The whole of an answer that cannot be read is in the error.
            logger.warning(
                "No filter for %r (%s: %s); plain search answers instead.",
                query,
                type(error).__name__,
                error,
            )
            return query, options

    def _translated(
        self, query: str, asked: StructuredQuery, options: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        translator = self.structured_query_translator
        text, made = translator.visit_structured_query(asked)
        made = {**made}
        for name in ("filter", "expr"):
            if made.get(name) and options.get(name):
                made[name] = _both(translator, options[name], made[name])
        # No store gives fewer than one document.
        if asked.limit is not None and asked.limit > 0:
            made["k"] = asked.limit
        return query if self.use_original_query else text, {**options, **made}

    @override
    def _prepare_query(
        self, query: str, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        return self._translated(query, structured_query, self.search_kwargs)

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
            **kwargs: Further fields of the retriever, such as `search_type`,
                `search_kwargs` and `fallback`.

        Returns:
            The retriever.

        Raises:
            NoTranslatorError: If no translator is given, and the store has none.
            ImportError: If `lark` is not there.
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


def _both(translator: Visitor, given: Any, made: Any) -> Any:
    if isinstance(translator, Translator):
        return translator.both(given, made)
    msg = (
        f"{type(translator).__name__} cannot join the model's filter with that in "
        "search_kwargs: leave the latter out, or make the translator a subclass of "
        "langchain_rag.structured_query.Translator."
    )
    raise ConfigurationError(msg)
