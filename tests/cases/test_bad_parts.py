"""What bad transformers and bad stores get: a clear error, and nothing half-written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from langchain_classic.storage import (
    InMemoryByteStore,
    LocalFileStore,
    create_kv_docstore,
)
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.stores import BaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.errors import (
    ConfigurationError,
    IdsIgnoredError,
    InvalidDocumentError,
    StoreError,
    TransformerError,
    UnstorableMetadataError,
)
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    IdIgnoringVectorStore,
    ScriptedTransformer,
    UndeletableVectorStore,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore

Body = Callable[[Sequence[Document]], Any]


class Custom(BaseDocumentTransformer):
    """What a user might write."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.batches: list[int] = []

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        assert not kwargs  # it does not say that it accepts a config
        self.batches.append(len(documents))
        return self.body(documents)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        return self.transform_documents(documents, **kwargs)


def raises(documents: Sequence[Document]) -> list[Document]:
    msg = "no luck"
    raise LookupError(msg)


def generator_that_raises(documents: Sequence[Document]) -> Iterator[Document]:
    yield documents[0]
    msg = "no luck"
    raise LookupError(msg)


def with_metadata(value: Any) -> Body:
    def body(documents: Sequence[Document]) -> list[Document]:
        return [Document("x", metadata={**d.metadata, "key": value}) for d in documents]

    return body


def with_text(text: str) -> Body:
    def body(documents: Sequence[Document]) -> list[Document]:
        return [Document(text, metadata=d.metadata) for d in documents]

    return body


FAILING: dict[str, tuple[Body, type[Exception], str]] = {
    "nothing": (lambda documents: [], TransformerError, "returned nothing"),
    "blanks": (with_text(" \n"), TransformerError, "returned nothing"),
    "nothing for one": (
        lambda documents: [d.model_copy() for d in documents if "good" in d.page_content],
        TransformerError,
        "returned nothing",
    ),
    "raises": (raises, TransformerError, r"raised LookupError.*no luck"),
    "raises in the middle": (generator_that_raises, TransformerError, "raised LookupError"),
    "None": (lambda documents: None, TransformerError, "raised TypeError"),
    "texts": (lambda documents: ["text"], TransformerError, "returned a str"),
    "pairs": (lambda documents: [(d, 1.0) for d in documents], TransformerError, "a tuple"),
    "NUL": (with_text("a\x00b"), InvalidDocumentError, "NUL"),
    "a surrogate": (with_text("a\ud800"), InvalidDocumentError, "surrogate"),
    "an object": (with_metadata(object()), UnstorableMetadataError, "'key'"),
    "a surrogate in metadata": (with_metadata("\ud800"), UnstorableMetadataError, "'key'"),
}


@pytest.mark.parametrize("stage", ["parent_transformer", "chunk_transformer"])
@pytest.mark.parametrize("name", FAILING)
async def test_a_transformer_that_gives_nothing_usable(
    driver: Driver, name: str, stage: str
) -> None:
    body, error, says = FAILING[name]
    world = World()
    await driver(world.start(source_id_key=None), "add_texts", ["stays"], ids=["bad"])
    rag = world.start(source_id_key=None, **{stage: Custom(body)})
    before, saved = contents(rag), world.save()
    world.plan.forget()
    documents = [Document("good"), Document("other")]
    with pytest.raises(error, match=says) as caught:
        await driver(rag, "add_documents", documents, ids=["fine", "bad"])
    assert type(caught.value) is error
    if stage == "parent_transformer":
        assert "'bad'" in str(caught.value) or "'fine'" in str(caught.value)
    else:  # it is given chunks, so chunks are named
        assert "chunk" in str(caught.value) or "-" in str(caught.value)
    assert world.plan.calls == []
    assert contents(rag) == before
    assert world.save() == saved
    rag = world.start(source_id_key=None)
    await driver(rag, "add_documents", documents, ids=["fine", "bad"])
    assert {row[1] for row in reachable(rag)} == {"good", "other"}
    assert audit(rag) == []


def drop_metadata(documents: Sequence[Document]) -> list[Document]:
    return [Document(word) for d in documents for word in d.page_content.split()]


def keep_some(documents: Sequence[Document]) -> list[Document]:
    return [Document(w, metadata={"n": 1}) for d in documents for w in d.page_content.split()]


def return_inputs(documents: Sequence[Document]) -> list[Document]:
    return list(documents)


def return_one_object_twice(documents: Sequence[Document]) -> list[Document]:
    return [d for d in documents for _ in range(2)]


def generate(documents: Sequence[Document]) -> Iterator[Document]:
    for document in documents:
        yield Document(document.page_content, metadata=dict(document.metadata))


def mutate(documents: Sequence[Document]) -> list[Document]:
    outputs = []
    for document in documents:
        outputs.append(Document(document.page_content, metadata=deepcopy(document.metadata)))
        document.page_content = "changed"
        document.metadata["tags"].append("changed")
        document.metadata["more"] = 1
    return outputs


def mutate_and_drop(documents: Sequence[Document]) -> list[Document]:
    for document in documents:
        document.metadata["tags"].append("changed")
    return [Document(document.page_content) for document in documents]


def mutate_and_return(documents: Sequence[Document]) -> list[Document]:
    for document in documents:
        document.metadata["tags"].append("changed")
    return list(documents)


def reverse(documents: Sequence[Document]) -> list[Document]:
    return [d.model_copy() for d in reversed(documents)]


ODD: dict[str, tuple[Body, list[str], dict[str, Any]]] = {
    "drops metadata": (drop_metadata, ["one", "two"], {"tags": ["x"]}),
    "keeps some": (keep_some, ["one", "two"], {"tags": ["x"], "n": 1}),
    "returns its inputs": (return_inputs, ["one two"], {"tags": ["x"]}),
    "returns an object twice": (return_one_object_twice, ["one two"], {"tags": ["x"]}),
    "is a generator": (generate, ["one two"], {"tags": ["x"]}),
    "mutates its inputs": (mutate, ["one two"], {"tags": ["x"]}),
    "mutates what it drops": (mutate_and_drop, ["one two"], {"tags": ["x"]}),
    "mutates what it returns": (mutate_and_return, ["one two"], {"tags": ["x", "changed"]}),
    "changes the order": (reverse, ["one two"], {"tags": ["x"]}),
}


@pytest.mark.parametrize("documents", [1, 2])
@pytest.mark.parametrize("name", ODD)
async def test_an_odd_parent_transformer(driver: Driver, name: str, documents: int) -> None:
    body, texts, metadata = ODD[name]
    world = World()
    rag = world.start(source_id_key=None, parent_transformer=Custom(body))
    given = [Document("one two", metadata={"tags": ["x"]}) for _ in range(documents)]
    before = deepcopy(given)
    ids = [f"d{n}" for n in range(documents)]
    await driver(rag, "add_documents", given, ids=ids)
    assert given == before
    for id_ in ids:
        chunks = await driver(rag, "get_by_ids", [id_])
        assert list(dict.fromkeys(chunk.page_content for chunk in chunks)) == texts
        assert all(chunk.metadata == metadata for chunk in chunks)
    assert len(await driver(rag, "get_by_ids", ids)) == documents * (
        2 if name == "returns an object twice" else len(texts)
    )
    assert audit(rag) == []


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_chunk_transformer(driver: Driver, name: str) -> None:
    body, texts, _ = ODD[name]
    world = World()
    rag = world.start(source_id_key=None, chunk_transformer=Custom(body))
    given = [Document("one two", metadata={"tags": ["x"]}) for _ in range(2)]
    before = deepcopy(given)
    await driver(rag, "add_documents", given, ids=["a", "b"])
    assert given == before
    for chunk in await driver(rag, "get_by_ids", ["a", "b"]):
        assert (chunk.page_content, chunk.metadata) == ("one two", {"tags": ["x"]})
    rows = list(contents(rag).rows.values())
    assert [row.page_content for row in rows] == texts * 2
    assert {row.metadata["transformer"] for row in rows} == {"Custom"}
    assert audit(rag) == []


async def test_one_that_drops_metadata_is_called_with_one_at_a_time(driver: Driver) -> None:
    transformer = Custom(drop_metadata)
    rag = World().start(source_id_key=None, parent_transformer=transformer)
    await driver(rag, "add_texts", ["a", "b", "c"])
    assert transformer.batches == [3, 1, 1, 1]
    await driver(rag, "add_texts", ["d", "e"])
    assert transformer.batches[4:] == [1, 1]
    keeps = Custom(return_inputs)
    rag = World().start(source_id_key=None, parent_transformer=keeps)
    await driver(rag, "add_texts", ["a", "b", "c"])
    await driver(rag, "add_texts", ["d", "e"])
    assert keeps.batches == [3, 2]


class Pydantic(BaseDocumentTransformer, BaseModel):
    """Some of LangChain's transformers are pydantic models, which have no hash."""

    drop: bool = False

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        return [
            Document(d.page_content, metadata={} if self.drop else d.metadata)
            for d in documents
        ]


@pytest.mark.parametrize("drop", [False, True])
async def test_a_transformer_without_a_hash(driver: Driver, drop: bool) -> None:
    transformer = Pydantic(drop=drop)
    rag = World().start(
        source_id_key=None, parent_transformer=transformer, chunk_transformer=transformer
    )
    ids = await driver(rag, "add_texts", ["a", "b"], [{"n": 1}, {"n": 2}])
    found = await driver(rag, "get_by_ids", ids)
    assert [(d.page_content, d.metadata) for d in found] == [("a", {"n": 1}), ("b", {"n": 2})]


async def test_a_chunk_transformer_that_sets_a_filter_of_its_own(driver: Driver) -> None:
    """What a variation's metadata has beside its chunk's can be filtered on."""
    world = World()
    rag = world.start(
        source_id_key=None,
        chunk_transformer=Custom(
            lambda documents: [
                Document(d.page_content, metadata={**d.metadata, "level": n})
                for d in documents
                for n in (1,)
            ]
        ),
    )
    await driver(rag, "add_documents", [Document("a", metadata={"own": 1})], ids=["a"])
    (row,) = contents(rag).rows.values()
    assert (row.metadata["level"], row.metadata["own"]) == (1, 1)
    (chunk,) = await driver(rag, "get_by_ids", ["a"])
    assert chunk.metadata == {"own": 1}


async def test_a_store_whose_delete_returns_false(driver: Driver) -> None:
    wrapped = UndeletableVectorStore(CountingEmbeddings())
    rag = RAGVectorStore(vectorstore=wrapped, docstore=InMemoryStore(), source_id_key=None)
    await driver(rag, "add_texts", ["old"], ids=["a"])
    before = reachable(rag)
    with pytest.raises(
        StoreError, match=r"delete answered False for 1 rows.*call again"
    ) as hit:
        await driver(rag, "delete", ["a"])
    assert type(hit.value) is StoreError
    # Nothing is lost, and what is there is named.
    assert reachable(rag) == before
    assert audit(rag, settled=False) == []
    with pytest.raises(StoreError, match="answered False"):
        await driver(rag, "add_texts", ["new"], ids=["a"])
    assert audit(rag, settled=False) == []
    # Once the store deletes, the next call puts everything right.
    rag = RAGVectorStore(vectorstore=wrapped.inner, docstore=rag.docstore, source_id_key=None)
    await driver(rag, "add_texts", ["other"], ids=["b"])
    assert {row[0] for row in reachable(rag)} == {"b"}
    assert audit(rag) == []


async def test_a_store_that_ignores_ids(driver: Driver) -> None:
    wrapped = IdIgnoringVectorStore(CountingEmbeddings())
    rag = RAGVectorStore(
        vectorstore=wrapped,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(str.split),
    )
    with pytest.raises(
        IdsIgnoredError, match=r"(?s)IdIgnoringVectorStore.*another.*taken back"
    ):
        await driver(rag, "add_texts", ["one two", "three"], ids=["a", "b"])
    assert contents(rag) == ({}, {})


class Silent(InMemoryVectorStore):
    """Keeps ids, and does not say so."""

    def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        super().add_documents(documents, ids=ids, **kwargs)

    async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        await super().aadd_documents(documents, ids=ids, **kwargs)


async def test_a_store_that_returns_no_ids(driver: Driver) -> None:
    rag = RAGVectorStore(
        vectorstore=Silent(CountingEmbeddings()), docstore=InMemoryStore(), source_id_key=None
    )
    await driver(rag, "add_texts", ["one"], ids=["a"])
    assert audit(rag) == []


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_docstore_of_bytes(tmp_path: Any, kind: str) -> None:
    docstore: Any = InMemoryByteStore() if kind == "memory" else LocalFileStore(tmp_path)
    with pytest.raises(ConfigurationError, match=r"holds bytes.*create_kv_docstore"):
        RAGVectorStore(vectorstore=InMemoryVectorStore(CountingEmbeddings()), docstore=docstore)


@pytest.fixture(params=["memory", "files"])
def kv_docstore(request: pytest.FixtureRequest, tmp_path: Any) -> BaseStore[str, Document]:
    if request.param == "memory":
        return create_kv_docstore(InMemoryByteStore())
    return create_kv_docstore(LocalFileStore(tmp_path))


LC: dict[str, Any] = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain_core", "documents", "Document"],
    "kwargs": {"page_content": "not me", "secret": {"lc": 1, "type": "secret", "id": ["HOME"]}},
}


async def test_bytes_as_documents_through_a_whole_life(
    driver: Driver, kv_docstore: BaseStore[str, Document]
) -> None:
    def start() -> RAGVectorStore:
        return RAGVectorStore(
            vectorstore=wrapped,
            docstore=kv_docstore,
            namespace="a namespace / with *any* characters\n",
            parent_transformer=ScriptedTransformer(str.splitlines),
            chunk_transformer=CopyDocumentTransformer(),
        )

    wrapped = InMemoryVectorStore(CountingEmbeddings())
    rag = start()
    # At the top, nested, and as LangChain's own serialisation would write an object.
    metadata = {**LC, "source": "/tmp/a file: *.md", "nested": [LC], "tuple": ({"lc": 2},)}
    document = Document("one\ntwo", metadata=deepcopy(metadata))
    await driver(rag, "add_documents", [document], ids=["../a ?"])
    chunks = await driver(rag, "get_by_ids", ["../a ?"])
    assert [chunk.metadata for chunk in chunks] == [metadata, metadata]
    assert audit(rag) == []
    rag = start()  # as after a restart
    assert await driver(rag, "get_by_ids", ["../a ?"]) == chunks
    changed = Document("one\nthree", metadata={**deepcopy(metadata), "lc": [2]})
    await driver(rag, "add_documents", [changed], ids=["../a ?"])
    found = await driver(rag, "similarity_search", "three", k=5)
    assert {chunk.page_content for chunk in found} == {"one", "three"}
    assert all(chunk.metadata == changed.metadata for chunk in found)
    assert audit(rag) == []
    assert await driver(rag, "delete") is True
    assert contents(rag) == ({}, {})
