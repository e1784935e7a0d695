"""What changes and costs are counted by, on every side: a model, embeddings, rows."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_classic.storage import LocalFileStore, create_kv_docstore
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import CharacterTextSplitter, TextSplitter

from benchmarks._stores import Counted, CountingEmbeddings, chroma
from langchain_rag import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    RAGVectorStore,
    SummarizeTransformer,
)
from langchain_rag.testing import ScriptedChatModel

SEPARATOR = "\n\n"


def answer(prompt: str) -> str:
    """Answer each prompt with something of its own, as a model would."""
    name = sha256(prompt.encode()).hexdigest()[:12]
    return f"1. What is {name}?\n2. Who has to do with {name}?\n3. When was {name}?"


class Counter:
    """Reads all counts.

    Args:
        embeddings: Counts texts.
        store: Whose rows are counted.
        model: Counts calls, where there is one.
    """

    def __init__(
        self,
        embeddings: CountingEmbeddings,
        store: VectorStore,
        model: ScriptedChatModel | None = None,
    ) -> None:
        self.embeddings, self.model = embeddings, model
        self.rows = Counted(store)

    def figures(self) -> dict[str, int]:
        """Return the counts since the last time."""
        found = {
            "calls": self.model.calls if self.model else 0,
            "embedded": self.embeddings.embedded,
            "written": self.rows.written,
            "deleted": self.rows.deleted,
        }
        self.embeddings.embedded = self.rows.written = self.rows.deleted = 0
        if self.model:
            self.model.reset()
        return found


def paragraphs() -> TextSplitter:
    """Make one chunk of each paragraph."""
    return CharacterTextSplitter(separator=SEPARATOR, chunk_size=100, chunk_overlap=0)


def counted_rag(
    folder: str, *, split: bool = False
) -> tuple[RAGVectorStore, dict[str, Any], Counter]:
    """Open ours in a folder, with questions, summary and copy.

    Args:
        folder: Where all is.
        split: Whether documents are cut into paragraphs.
    """
    embeddings, model = CountingEmbeddings(), ScriptedChatModel(answer=answer)
    store = chroma(f"{folder}/chroma", embeddings)
    counter = Counter(embeddings, store, model)
    rag, arguments = RAGVectorStore.from_vs_in_sql(
        store,
        db_url=f"sqlite:///{folder}/rag.db",
        parent_transformer=paragraphs() if split else None,
        chunk_transformer=GenerateQuestionsTransformer.from_llm(model, version="1")
        + SummarizeTransformer.from_llm(model, version="1")
        + CopyDocumentTransformer(),
    )
    return rag, arguments, counter


class IndexedRetriever(VectorStore):
    """As much of a vector store as `index()` needs, around a `ParentDocumentRetriever`.

    The retriever cannot delete, so this keeps the ids that `index()` gave as those of the
    documents, and deletes pieces by what they say of their document.
    """

    def __init__(self, retriever: ParentDocumentRetriever, store: Any) -> None:
        self.retriever, self.store = retriever, store

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids = list(kwargs["ids"])
        self.retriever.add_documents(documents, ids=ids)
        return ids

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        for id_ in ids or []:
            found = self.store.get(where={"doc_id": id_}, include=[])
            if found["ids"]:
                self.store.delete(found["ids"])
        self.retriever.docstore.mdelete(ids or [])
        return True

    def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Document]:
        raise NotImplementedError

    @classmethod
    def from_texts(
        cls, texts: list[str], embedding: Embeddings, *_: Any, **__: Any
    ) -> IndexedRetriever:
        raise NotImplementedError


def parent_document_retriever(folder: str, store: VectorStore) -> IndexedRetriever:
    """Open LangChain's retriever in a folder, with a child for each paragraph."""
    docstore = create_kv_docstore(LocalFileStore(Path(folder) / "documents"))
    retriever = ParentDocumentRetriever(
        vectorstore=store, docstore=docstore, child_splitter=paragraphs()
    )
    return IndexedRetriever(retriever, store)
