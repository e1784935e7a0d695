"""What the retrievers that search by words have in common."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.structured_query import FilterDirective
from pydantic import PrivateAttr, SkipValidation
from typing_extensions import override

from langchain_rag._flow import Flow
from langchain_rag.lexical import LexicalSearch
from langchain_rag.retrievers._base import RAGRetriever
from langchain_rag.retrievers._filters import directive_of
from langchain_rag.retrievers._word_search import search_of


class WordsRetriever(RAGRetriever):
    """Base of the retrievers that search a store's docstore by words.

    Attributes:
        filter: Which chunks count: a `Comparison` or `Operation` of LangChain's structured
            queries, or a dict of metadata keys and the values that they must have.
        language: Of the texts, for an index in memory.
    """

    filter: SkipValidation[FilterDirective | dict[str, Any] | None] = None
    language: str = "english"

    _search: LexicalSearch = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        # Not in a validator: pydantic would put an error of its own in place of ours.
        self._search = search_of(self._queries, self.language)
        directive_of(self.filter)

    @override
    def _answer(self, query: str, k: int | None, given: dict[str, Any]) -> Flow[list[Document]]:
        if self.filter is not None:
            given = {"filter": self.filter, **given}
        return (yield from super()._answer(query, k, given))
