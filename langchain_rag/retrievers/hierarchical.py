"""Documents are found by their summaries, then chunks within them."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import override

from langchain_rag._flow import Flow
from langchain_rag.retrievers._base import RAGRetriever
from langchain_rag.search.options import wanted_of
from langchain_rag.search.results import answers


class HierarchicalRetriever(RAGRetriever):
    """Searches summaries of documents first, and then chunks of the documents found.

    The store's `parent_transformer` is a `DocumentSummaryTransformer`, which makes one summary
    of each document beside its chunks. Both are in one collection and told apart by their
    kinds, so they come, change and go with the document. Where no summary is found, all chunks
    are searched. The query is embedded once.

    Attributes:
        documents: Documents to find in the first stage.
        summary_kinds: Kinds of variation that stand for whole documents.
    """

    documents: int = Field(default=4, ge=1)
    summary_kinds: frozenset[str] = frozenset({"document_summary"})

    @override
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        queries = self._queries
        wanted, _ = wanted_of(options)
        question = yield from queries.ask(query)
        first = {**options, "kinds": self.summary_kinds, "return_documents": True}
        summaries = yield from queries.hits(question, self.documents, first)
        second = {**options, "except_kinds": self.summary_kinds | wanted.except_kinds}
        if summaries:
            second["within"] = {hit.chunk.document_id for hit in summaries}
        hits = yield from queries.hits(question, k, second)
        return [
            document for document, _ in (yield from answers(queries.lifecycle, hits, wanted))
        ]
