"""The peers' own retrievers, over the same texts, units and vectors."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from langchain_classic.retrievers import MultiVectorRetriever, ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import VectorStore
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    LangchainNodeParser,
    SentenceWindowNodeParser,
    get_leaf_nodes,
)
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQueryResult,
)
from pydantic import PrivateAttr

from benchmarks._measures import Passage
from benchmarks._retrieval_data import DataSet
from benchmarks._units import (
    LEAVES,
    WINDOW,
    Found,
    documents,
    passage_of,
    sentences,
    splitter,
)


def parent_document_retriever(data: DataSet, store: VectorStore, widened: int) -> Found:
    """Search small pieces, return large ones.

    Args:
        data: What to search.
        store: Empty.
        widened: How many pieces are searched for each result that is wanted.
    """
    large, small = data.sizes[-2:]
    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        parent_splitter=splitter(large),
        child_splitter=splitter(small),
    )
    retriever.add_documents(documents(data))
    return _found(retriever, widened)


def multi_vector_retriever(data: DataSet, store: VectorStore, widened: int) -> Found:
    """Search questions and copies, return what they are of.

    Args:
        data: What to search.
        store: Empty.
        widened: How many questions and copies are searched for each result that is wanted.
    """
    retriever = MultiVectorRetriever(vectorstore=store, docstore=InMemoryStore())
    for document in documents(data):
        key = str(uuid.uuid4())
        texts = [document.page_content, *data.questions[document.metadata["source"]]]
        rows = [Document(text, metadata={retriever.id_key: key}) for text in texts]
        retriever.vectorstore.add_documents(rows)
        retriever.docstore.mset([(key, document)])
    return _found(retriever, widened)


def _found(retriever: MultiVectorRetriever, widened: int) -> Found:
    def search(query: str, k: int) -> list[Passage]:
        retriever.search_kwargs = {"k": widened * k}
        return [passage_of(document) for document in retriever.invoke(query)[:k]]

    return search


class Embedding(BaseEmbedding):  # type: ignore[misc] # no types without the group
    """LangChain's embeddings, for LlamaIndex."""

    _model: Embeddings = PrivateAttr()

    def __init__(self, model: Embeddings) -> None:
        super().__init__(model_name="the same", embed_batch_size=256)
        self._model = model

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.embed_documents(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._model.embed_documents([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._model.embed_query(query)


class Exact(BasePydanticVectorStore):  # type: ignore[misc] # no types without the group
    """Compares with every vector, as LlamaIndex's `SimpleVectorStore`, but with all at once.

    It keeps the nodes too, since the docstore that comes with LlamaIndex writes the ids of all
    nodes of a document again for each of them.
    """

    stores_text: bool = True
    _nodes: list[Any] = PrivateAttr(default_factory=list)
    _matrix: Any = PrivateAttr(default=None)

    @property
    def client(self) -> None:
        return None

    def add(self, nodes: Sequence[Any], **_: Any) -> list[str]:
        self._nodes.extend(nodes)
        self._matrix = None
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        raise NotImplementedError

    def query(self, query: Any, **_: Any) -> VectorStoreQueryResult:
        if self._matrix is None:
            self._matrix = np.array([node.embedding for node in self._nodes])
        scores = self._matrix @ np.array(query.query_embedding)
        best = np.argsort(-scores, kind="stable")[: query.similarity_top_k]
        found = [self._nodes[place] for place in best]
        return VectorStoreQueryResult(
            nodes=found,
            ids=[node.node_id for node in found],
            similarities=scores[best].tolist(),
        )


def sentence_window(data: DataSet, embeddings: Embeddings) -> Found:
    """Search sentences, return the window around each."""
    parser = SentenceWindowNodeParser.from_defaults(
        sentence_splitter=sentences, window_size=WINDOW
    )
    nodes = parser.get_nodes_from_documents(_llama_documents(data))
    index = _indexed(nodes, embeddings)
    replaced = MetadataReplacementPostProcessor(target_metadata_key="window")
    places = _windows(nodes)

    def search(query: str, k: int) -> list[Passage]:
        hits = index.as_retriever(similarity_top_k=k).retrieve(query)
        # It joins the sentences anew, so their place is known of the nodes only.
        return [
            places[hit.node.node_id]
            for hit in replaced.postprocess_nodes(hits, query_str=query)
        ]

    return search


def _windows(nodes: list[Any]) -> dict[str, Passage]:
    by_source: dict[str, list[Any]] = {}
    for node in nodes:
        by_source.setdefault(node.ref_doc_id, []).append(node)
    return {
        node.node_id: Passage(
            source,
            beside[max(0, number - WINDOW)].start_char_idx,
            beside[min(number + WINDOW, len(beside) - 1)].end_char_idx,
        )
        for source, beside in by_source.items()
        for number, node in enumerate(beside)
    }


def auto_merging(data: DataSet, embeddings: Embeddings) -> Found:
    """Search the smallest pieces, return what most of them are in."""
    names = [f"{size} tokens" for size in data.sizes]
    parsers = {
        name: LangchainNodeParser(splitter(size))
        for name, size in zip(names, data.sizes, strict=True)
    }
    parser = HierarchicalNodeParser.from_defaults(
        node_parser_ids=names, node_parser_map=parsers
    )
    nodes = parser.get_nodes_from_documents(_llama_documents(data))
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    index = _indexed(get_leaf_nodes(nodes), embeddings, docstore=docstore)
    places = _places(nodes)

    def search(query: str, k: int) -> list[Passage]:
        leaves = index.as_retriever(similarity_top_k=LEAVES * k)
        hits = AutoMergingRetriever(leaves, index.storage_context).retrieve(query)
        return [places[hit.node.node_id] for hit in hits[:k]]

    return search


def _places(nodes: Iterable[Any]) -> dict[str, Passage]:
    """Find nodes in the document: each says where it is in the one above it."""
    found: dict[str, Passage] = {}
    for node in nodes:
        above = node.parent_node and found[node.parent_node.node_id]
        source, start = (above.source, above.start) if above else (node.ref_doc_id, 0)
        start += node.start_char_idx
        found[node.node_id] = Passage(source, start, start + len(node.text))
    return found


def _llama_documents(data: DataSet) -> list[LlamaDocument]:
    return [LlamaDocument(text=text, id_=name) for name, text in data.texts.items()]


def _indexed(nodes: list[Any], embeddings: Embeddings, **parts: Any) -> VectorStoreIndex:
    context = StorageContext.from_defaults(vector_store=Exact(), **parts)
    return VectorStoreIndex(nodes, storage_context=context, embed_model=Embedding(embeddings))
