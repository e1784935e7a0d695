"""Our ways to retrieve, for `benchmarks.retrieval`."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from benchmarks._measures import Passage
from benchmarks._retrieval_data import DataSet
from benchmarks._units import (
    LEAVES,
    WINDOW,
    Found,
    documents,
    passage_of,
    splitter,
)
from langchain_rag import CopyDocumentTransformer, LazyDocumentTransformer, RAGVectorStore
from langchain_rag.document_transformers import HierarchicalSplitter, SentenceSplitter
from langchain_rag.retrievers import AutoMergingRetriever, SentenceWindowRetriever


class StoredQuestions(LazyDocumentTransformer):
    """Stands in for a model with the questions that people asked of each document."""

    kind = "questions"
    version = "1"

    def __init__(self, questions: dict[str, list[str]]) -> None:
        self._questions = questions

    def transform_document(self, document: Document) -> Iterable[Document]:
        for text in self._questions[document.metadata["source"]]:
            yield Document(text, metadata=document.metadata)


def plain(data: DataSet, store: VectorStore, size: int | None) -> Found:
    """Search chunks of a size, or whole documents, in the wrapped store itself."""
    chunks = documents(data)
    if size:
        chunks = splitter(size).split_documents(chunks)
    store.add_documents(chunks)
    return lambda query, k: [passage_of(one) for one in store.similarity_search(query, k)]


def copies(data: DataSet, store: VectorStore) -> RAGVectorStore:
    """Open a store of chunks as they are."""
    return _filled(data, store, splitter(data.sizes[-2]), None)


def small_to_big(data: DataSet, store: VectorStore) -> RAGVectorStore:
    """Open a store whose small pieces are searched, and whose chunks are returned."""
    large, small = data.sizes[-2:]
    return _filled(data, store, splitter(large), splitter(small))


def questions(data: DataSet, store: VectorStore) -> RAGVectorStore:
    """Open a store of which questions and copies are searched."""
    stored = StoredQuestions(dict(data.questions))
    return _filled(data, store, None, stored + CopyDocumentTransformer())


def dense(rag: RAGVectorStore, aggregation: str = "best") -> Found:
    """Search variations."""
    return lambda query, k: [
        passage_of(one) for one in rag.similarity_search(query, k, aggregation=aggregation)
    ]


def lexical(rag: RAGVectorStore) -> Found:
    """Search the words of chunks."""
    return _retrieved(rag.as_lexical_retriever())


def hybrid(rag: RAGVectorStore) -> Found:
    """Search both, and fuse the ranks."""
    return _retrieved(rag.as_hybrid_retriever())


def sentence_window(data: DataSet, store: VectorStore) -> Found:
    """Search sentences, return the windows around them."""
    rag = _filled(data, store, splitter(data.sizes[-2]), SentenceSplitter())
    retriever = SentenceWindowRetriever(vectorstore=rag, window=WINDOW, fallback=False)
    return _retrieved(retriever)


def auto_merging(data: DataSet, store: VectorStore) -> Found:
    """Search the smallest pieces, return what half of them are in."""
    tree = HierarchicalSplitter(
        splitters=[splitter(size) for size in data.sizes], add_start_index=True
    )
    rag = _filled(data, store, tree, None)

    def search(query: str, k: int) -> list[Passage]:
        retriever = AutoMergingRetriever(
            vectorstore=rag, k=k, fetch_k=LEAVES * k, fallback=False
        )
        return [passage_of(document) for document in retriever.invoke(query)]

    return search


def _retrieved(retriever: BaseRetriever) -> Found:
    return lambda query, k: [passage_of(one) for one in retriever.invoke(query, k=k)]


def _filled(
    data: DataSet,
    store: VectorStore,
    parent: BaseDocumentTransformer | None,
    chunk: BaseDocumentTransformer | None,
) -> RAGVectorStore:
    rag, _ = RAGVectorStore.from_vs_in_sql(
        store,
        db_url="sqlite://",
        parent_transformer=parent,
        chunk_transformer=chunk,
        embedding_cache=None,
    )
    rag.add_documents(documents(data))
    return rag
