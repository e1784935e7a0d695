from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag._reserved import KIND, LINEAGE, TRANSFORMER
from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    DocumentTransformerPipeline,
    DocumentTransformers,
    LazyDocumentTransformer,
)
from langchain_rag.errors import ConfigurationError
from tests.unit.document_transformers.conftest import FORMS


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__)
def transform(request):
    """Every form."""
    return request.param


class Words(LazyDocumentTransformer):
    def transform_document(self, document):
        return [
            Document(page_content=word, metadata=document.metadata)
            for word in document.page_content.split()
        ]


class Twice(LazyDocumentTransformer):
    window_size = 3

    def transform_document(self, document):
        return [document, Document(page_content=document.page_content * 2)]


def splitter():
    return CharacterTextSplitter(separator=" ", chunk_size=1, chunk_overlap=0)


def texts(documents):
    return [one.page_content for one in documents]


def test_side_by_side_is_by_document_then_by_member(transform, upper):
    both = CopyDocumentTransformer() + upper + Words()
    made = transform(both, [Document("a b"), Document("c d")])
    assert texts(made) == ["a b", "A B", "a", "b", "c d", "C D", "c", "d"]
    assert [one.metadata[TRANSFORMER] for one in made[:3]] == [
        "CopyDocumentTransformer",
        "Upper",
        "Words",
    ]


def test_plus_flattens_in_reading_order_with_any_transformer_on_either_side(upper):
    a, b = CopyDocumentTransformer(), Words()
    left, right = upper + a, b + upper
    both = left + right
    assert both.transformers == (upper, a, b, upper)
    assert (a + (b + upper)).transformers == (a, b, upper)
    assert (splitter() + a).transformers[1] is a
    assert isinstance(upper + left, DocumentTransformers)


def test_bar_flattens_in_reading_order_with_any_transformer_on_either_side(transform, upper):
    a, b = CopyDocumentTransformer(), Words()
    assert (upper | a | b).transformers == (upper, a, b)
    assert (a | (b | upper)).transformers == (a, b, upper)
    made = transform(
        DocumentTransformerPipeline([splitter(), upper]), [Document("a b"), Document("c")]
    )
    assert texts(made) == ["A", "B", "C"]
    assert made[0].metadata == {TRANSFORMER: "Upper"}


def test_an_empty_pipeline_passes_copies_through(transform):
    given_ = [Document("a", id="1", metadata={"x": [1]}), Document("b")]
    made = transform(DocumentTransformerPipeline([]), given_)
    assert made == given_
    made[0].metadata["x"].append(2)
    assert given_[0].metadata == {"x": [1]}
    assert DocumentTransformerPipeline([]).transform_document(Document("b")) == [Document("b")]


def test_no_members_side_by_side_make_nothing(transform):
    assert transform(DocumentTransformers([]), [Document("a")]) == []


def test_a_stage_that_makes_nothing_ends_there(transform, upper):
    assert transform(Words() | upper | Twice(), [Document(" "), Document("")]) == []
    assert upper.seen == []


def test_a_foreign_stage_sees_together_what_stems_from_one_document(transform, upper):
    transform(
        DocumentTransformerPipeline([splitter(), upper]), [Document("a b"), Document("c d")]
    )
    assert [texts(seen) for seen in upper.seen] == [["a", "b"], ["c", "d"]]


def test_a_foreign_member_sees_one_document_and_lineage_but_no_config(transform, upper):
    metadata = {"n": [1], LINEAGE: "L", TRANSFORMER: "Old"}
    given_ = [Document("a", id="1", metadata=metadata)]
    made = transform(DocumentTransformers([upper]), given_, {"tags": ["t"]})
    assert upper.seen == [[Document("a", id="1", metadata={"n": [1], LINEAGE: "L"})]]
    assert made == [Document("A", metadata={"n": [1], LINEAGE: "L", TRANSFORMER: "Upper"})]
    made[0].metadata["n"].append(2)
    assert metadata["n"] == [1]


def test_a_foreign_member_that_drops_metadata_still_says_what_it_is_of(transform):
    class Drops(BaseDocumentTransformer):
        def transform_documents(self, documents, **kwargs):
            return [Document("x")]

    given_ = [Document("a", metadata={LINEAGE: "A"}), Document("b", metadata={LINEAGE: "B"})]
    made = transform(Drops() | CopyDocumentTransformer(), given_)
    assert [one.metadata[LINEAGE] for one in made] == ["A", "B"]


def test_a_foreign_member_that_accepts_config_gets_it(transform):
    class Takes(BaseDocumentTransformer):
        accepts_config = True

        def transform_documents(self, documents, *, config=None, **kwargs):
            return [Document(str(config["tags"]))]

    made = transform(DocumentTransformers([Takes()]), [Document("a")], {"tags": ["t"]})
    assert texts(made) == ["['t']"]


def test_what_a_foreign_member_raises_is_not_changed():
    class SyncOnly(BaseDocumentTransformer):
        def transform_documents(self, documents, **kwargs):
            return documents

        async def atransform_documents(self, documents, **kwargs):
            raise NotImplementedError

    pipeline = SyncOnly() | Words()
    assert texts(pipeline.transform_documents([Document("a b")])) == ["a", "b"]
    with pytest.raises(NotImplementedError):
        asyncio.run(pipeline.atransform_documents([Document("a b")]))


@pytest.mark.parametrize("composed", [DocumentTransformers, DocumentTransformerPipeline])
@pytest.mark.parametrize("wrong", [CopyDocumentTransformer, 3, None])
def test_what_is_no_transformer_is_refused(composed, wrong):
    with pytest.raises(ConfigurationError, match="not a document transformer"):
        composed([wrong])


def test_a_lazy_pipeline_streams():
    read = []

    def documents():
        for number in range(1000):
            read.append(number)
            yield Document(f"{number} x")

    pipeline = splitter() | CopyDocumentTransformer() | Twice()
    stream = pipeline.lazy_transform_documents(documents())
    assert texts([next(stream) for _ in range(3)]) == ["0", "00", "x"]
    assert len(read) == 2


async def test_an_async_lazy_pipeline_streams():
    read = []

    async def documents():
        for number in range(1000):
            read.append(number)
            yield Document(f"{number} x")

    pipeline = splitter() | (CopyDocumentTransformer() + Twice())
    source = documents()
    stream = pipeline.alazy_transform_documents(source)
    assert (await anext(stream)).page_content == "0"
    assert len(read) == 2
    await stream.aclose()
    await source.aclose()  # which stays the caller's


def test_one_document(upper):
    both = (Words() | upper) + CopyDocumentTransformer()
    assert texts(both.transform_document(Document("a b"))) == ["A", "B", "a b"]
    assert texts((Words() | upper).transform_document(Document("a b"))) == ["A", "B"]
    [member] = [one for one in both._members if one is both._members[0]]
    assert texts(member._members[1].transform_document(Document("a"))) == ["A"]


def test_a_copy_keeps_its_kind_in_composition(transform):
    made = transform(Words() | CopyDocumentTransformer(), [Document("a")])
    assert made[0].metadata == {TRANSFORMER: "CopyDocumentTransformer", KIND: "copy"}
    made = transform(CopyDocumentTransformer() | Words(), [Document("a")])
    assert made[0].metadata == {TRANSFORMER: "Words"}


members = st.recursive(
    st.sampled_from(["copy", "words", "twice", "split"])
    .map(
        {
            "copy": CopyDocumentTransformer,
            "words": Words,
            "twice": Twice,
            "split": splitter,
        }.__getitem__
    )
    .map(lambda make: make()),
    lambda inner: st.tuples(
        st.sampled_from([DocumentTransformers, DocumentTransformerPipeline]),
        st.lists(inner, max_size=3),
    ).map(lambda pair: pair[0](pair[1])),
    max_leaves=5,
).filter(lambda made: isinstance(made, LazyDocumentTransformer))
documents_ = st.lists(st.text("ab ", max_size=6).map(Document), max_size=6)


@given(transformer=members, documents=documents_)
def test_all_forms_of_any_composition_give_the_same(forms, transformer, documents):
    expected, *others = [form(transformer, documents) for form in forms]
    assert all(other == expected for other in others)
    one_by_one = [made for one in documents for made in transformer.transform_documents([one])]
    assert one_by_one == expected


@given(st.lists(members, max_size=3), documents_)
def test_a_pipeline_is_its_stages_one_after_the_other(stages, documents):
    expected = list(documents)
    for stage in stages:
        expected = stage.transform_documents(expected)
    assert DocumentTransformerPipeline(stages).transform_documents(documents) == expected
