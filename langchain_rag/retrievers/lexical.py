"""Chunks by their words."""

from __future__ import annotations

import logging
from typing import Any

from langchain_core.documents import Document
from typing_extensions import override

from langchain_rag._flow import Flow
from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers._words import WordsRetriever, dense_hits, lexical_hits
from langchain_rag.retrievers.filters import directive_of
from langchain_rag.search.options import wanted_of
from langchain_rag.search.results import answers

logger = logging.getLogger(__name__)


class LexicalRetriever(WordsRetriever):
    """Finds chunks by their words, ranked by BM25.

    A chunk need not have all words of the query; rare ones count more. Words are compared by
    their stems, and very common ones are left out. Headings (`Header 1`, `title`, ...) count
    as text. With a `SQLDocStore` that has `full_text`, its index is searched; with another
    docstore one in memory (bm25s), made of its chunks. Nothing in a query is syntax.

    Scores, which `match_details` shows, are BM25's, and the kind is `"text"`. `kinds` limits
    what is found to chunks that have a variation of such a kind.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_rag import RAGVectorStore
        >>> from langchain_rag.retrievers import LexicalRetriever
        >>> rag, _ = RAGVectorStore.from_vs_in_sql(
        ...     InMemoryVectorStore(DeterministicFakeEmbedding(size=8)), db_url="sqlite://"
        ... )
        >>> documents = [{"source": "a"}, {"source": "b"}]
        >>> _ = rag.add_texts(["Euclid's elements", "Euler's numbers"], documents)
        >>> retriever = LexicalRetriever(vectorstore=rag, k=1)
        >>> [found.page_content for found in retriever.invoke("What is a number?")]
        ["Euler's numbers"]
    """

    @override
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        queries = self._queries
        wanted, rest = wanted_of(options)
        directive = directive_of(rest.pop("filter", None))
        try:
            hits = yield from lexical_hits(
                queries, self._search, query, k, wanted=wanted, directive=directive
            )
        except (ConfigurationError, TypeError):
            raise
        except Exception as error:
            if not self.fallback:
                raise
            # Here, where the filter can be put into the wrapped store's words.
            logger.warning(
                "%s failed (%s: %s); plain search answers instead.",
                type(self).__name__,
                type(error).__name__,
                error,
            )
            hits = yield from dense_hits(queries, query, k, options, directive)
        found = yield from answers(queries.lifecycle, hits, wanted)
        return [document for document, _ in found]
