from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_rag.document_transformers import SummarizeAndQuestionsTransformer
from langchain_rag.document_transformers.llm.summarize_and_questions import SummaryAndQuestions
from langchain_rag.errors import TransformerError

TEXT = "SUMMARY: From text.\nQUESTIONS:\n1. Is it text?"
PARSED = SummaryAndQuestions(
    summary="Structured.", questions=["1. Is it?", "Is it?", "Or not?"]
)


class RefusedError(Exception):
    def __init__(self, status_code):
        self.status_code = status_code


class LengthFinishReasonError(Exception):
    pass


@pytest.fixture
def model(scripted):
    """A chat model whose structured output is a function of the prompt."""

    def make(structured):
        return scripted(TEXT, structured=structured)

    return make


def raw(text, parsed=None):
    return {"raw": AIMessage(text), "parsed": parsed, "parsing_error": None}


def texts(documents):
    return [one.page_content for one in documents]


def test_structured_output_is_used_and_cleaned(transform, model):
    llm = model(lambda prompt: raw("", PARSED))
    made = transform(SummarizeAndQuestionsTransformer.from_llm(llm), [Document("x")])
    assert texts(made) == ["SUMMARY:\nStructured.", "Is it?", "Or not?"]
    assert llm.prompts == []


def test_what_does_not_fit_is_read_as_text(transform, model):
    llm = model(lambda prompt: raw(TEXT))
    made = transform(SummarizeAndQuestionsTransformer.from_llm(llm), [Document("x")])
    assert texts(made) == ["SUMMARY:\nFrom text.", "Is it text?"]
    assert llm.prompts == []


def test_rubbish_is_asked_for_again_as_text(transform, model):
    llm = model(lambda prompt: raw("?!"))
    made = transform(SummarizeAndQuestionsTransformer.from_llm(llm), [Document("x")])
    assert texts(made) == ["SUMMARY:\nFrom text.", "Is it text?"]
    assert len(llm.prompts) == 1


@pytest.mark.parametrize("error", [NotImplementedError, ValueError, TypeError])
def test_a_model_that_has_it_not_is_asked_for_text(transform, model, error):
    llm = model(error)
    made = transform(SummarizeAndQuestionsTransformer.from_llm(llm), [Document("x")])
    assert texts(made) == ["SUMMARY:\nFrom text.", "Is it text?"]


@pytest.mark.parametrize(
    "error",
    [RefusedError(400), RefusedError(501), NotImplementedError(), LengthFinishReasonError()],
)
def test_a_refusal_is_asked_for_again_as_text_and_remembered(model, error):
    llm = model(lambda prompt: error)
    transformer = SummarizeAndQuestionsTransformer.from_llm(llm)
    before = transformer.fingerprint
    for _ in range(2):
        made = transformer.transform_documents([Document("x"), Document("y")])
        assert texts(made) == ["SUMMARY:\nFrom text.", "Is it text?"] * 2
    assert llm.state["structured"] == 2
    assert transformer.fingerprint == before


def test_one_refusal_of_many_is_not_remembered(model):
    llm = model(lambda prompt: RefusedError(400) if "bad" in prompt else raw("", PARSED))
    transformer = SummarizeAndQuestionsTransformer.from_llm(llm)
    for _ in range(2):
        made = transformer.transform_documents([Document("x"), Document("bad")])
        assert texts(made)[0] == "SUMMARY:\nStructured."
        assert texts(made)[-1] == "Is it text?"
    assert llm.state["structured"] == 4


@pytest.mark.parametrize(
    "error", [RefusedError(429), RefusedError(500), ConnectionError("down")]
)
def test_other_failures_are_failures(transform, model, error):
    llm = model(lambda prompt: error)
    transformer = SummarizeAndQuestionsTransformer.from_llm(llm)
    with pytest.raises(TransformerError, match="'7'") as caught:
        transform(transformer, [Document("x", id="7")])
    assert caught.value.__cause__ is error
    assert llm.prompts == []


def test_it_can_be_switched_off_and_insisted_on(model):
    llm = model(lambda prompt: raw("", PARSED))
    off = SummarizeAndQuestionsTransformer.from_llm(llm, structured=False)
    assert texts(off.transform_documents([Document("x")]))[0] == "SUMMARY:\nFrom text."
    on = SummarizeAndQuestionsTransformer.from_llm(llm, structured=True)
    assert texts(on.transform_documents([Document("x")]))[0] == "SUMMARY:\nStructured."
