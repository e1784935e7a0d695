from __future__ import annotations

from copy import deepcopy

import pytest
from langchain_core.documents import Document

from langchain_rag._reserved import DOCUMENT, KIND, LINEAGE, TRANSFORMER
from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    LazyDocumentTransformer,
)
from langchain_rag.errors import TransformerError
from tests.unit.document_transformers.conftest import FORMS


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__)
def transform(request):
    """Every form."""
    return request.param


class Words(LazyDocumentTransformer):
    kind = "word"

    def transform_document(self, document):
        for word in document.page_content.split():
            yield Document(page_content=word, metadata=document.metadata, id="ignored")


class Rude(LazyDocumentTransformer):
    """Writes into what it is given, and gives it back twice."""

    def __init__(self):
        self.seen = []

    def transform_document(self, document):
        self.seen.append(deepcopy(document))
        document.metadata["tags"].append("rude")
        document.page_content += "!"
        return [document, document]


class Broken(LazyDocumentTransformer):
    def __init__(self, error):
        self.error = error

    def transform_document(self, document):
        raise self.error


def test_one_method_gives_every_form(transform):
    made = transform(Words(), [Document("a b", metadata={"n": 1}), Document(""), Document("c")])
    assert [one.page_content for one in made] == ["a", "b", "c"]
    assert made[0].metadata == {"n": 1, TRANSFORMER: "Words", KIND: "word"}
    assert {one.id for one in made} == {None}


def test_inputs_are_not_changed_and_outputs_share_nothing(transform):
    given = Document("x", id="7", metadata={"tags": ["a"]})
    before = deepcopy(given)
    first, second = transform(Rude(), [given])
    assert given == before
    first.metadata["tags"].append("mine")
    assert second.metadata["tags"] == ["a", "rude"]
    assert second.page_content == "x!"


def test_internal_metadata_is_hidden_and_carried(transform):
    rude = Rude()
    metadata = {"tags": [], LINEAGE: "L", DOCUMENT: "D", TRANSFORMER: "Old", KIND: "old"}
    made = transform(rude, [Document("x", id="7", metadata=metadata)])
    assert rude.seen[0] == Document("x", id="7", metadata={"tags": []})
    assert made[0].metadata == {
        "tags": ["rude"],
        LINEAGE: "L",
        DOCUMENT: "D",
        TRANSFORMER: "Rude",
    }


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (Document("text", id="doc-7"), "'doc-7'"),
        (Document("t" * 100), "beginning with '" + "t" * 60 + "…'"),
    ],
)
def test_a_failure_names_the_document_and_its_cause(transform, document, named):
    error = RuntimeError("no")
    with pytest.raises(TransformerError, match="Broken raised") as caught:
        transform(Broken(error), [document])
    assert named in str(caught.value)
    assert caught.value.__cause__ is error


def test_an_error_of_ours_is_left_alone(transform):
    error = TransformerError("mine")
    with pytest.raises(TransformerError) as caught:
        transform(Broken(error), [Document("x")])
    assert caught.value is error


def test_lazy_reads_no_more_than_a_window():
    read = []

    def documents():
        for number in range(100):
            read.append(number)
            yield Document(str(number))

    stream = Words().lazy_transform_documents(documents())
    assert next(stream).page_content == "0"
    assert read == [0]
    wide = Words()
    wide.window_size = 3
    read.clear()
    assert next(wide.lazy_transform_documents(documents())).page_content == "0"
    assert read == [0, 1, 2]


async def test_alazy_reads_no_more_than_a_window():
    read = []

    async def documents():
        for number in range(100):
            read.append(number)
            yield Document(str(number))

    source = documents()
    stream = Words().alazy_transform_documents(source)
    assert (await anext(stream)).page_content == "0"
    assert read == [0]
    await stream.aclose()
    await source.aclose()


def test_a_window_that_loses_a_document_is_an_error(transform):
    class Loses(LazyDocumentTransformer):
        def transform_document(self, document):
            return [document]

        def _transform_window(self, documents, config):
            yield from ()
            return []

    with pytest.raises(TransformerError, match="gave 0 lists for 1 documents"):
        transform(Loses(), [Document("x")])


def test_extra_arguments_are_accepted_as_by_langchain():
    transformer = CopyDocumentTransformer()
    assert transformer.transform_documents([Document("x")], anything=1)[0].page_content == "x"


def test_copy(transform):
    given = [Document("x", id="1", metadata={"a": {"b": [1]}}), Document("y")]
    made = transform(CopyDocumentTransformer(), given)
    assert [one.page_content for one in made] == ["x", "y"]
    assert made[0].metadata == {
        "a": {"b": [1]},
        TRANSFORMER: "CopyDocumentTransformer",
        KIND: "copy",
    }
    made[0].metadata["a"]["b"].append(2)
    assert given[0].metadata == {"a": {"b": [1]}}


def test_nothing_gives_nothing(transform):
    assert transform(CopyDocumentTransformer(), []) == []
