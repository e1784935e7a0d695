from __future__ import annotations

import asyncio
from collections import Counter
from inspect import signature
from typing import Any, assert_type

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import LLM, FakeListChatModel, FakeListLLM
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_rag._reserved import KIND, LINEAGE, TRANSFORMER
from langchain_rag.document_transformers import (
    ContextualSplitter,
    CopyDocumentTransformer,
    DocumentTransformerPipeline,
    GenerateQuestionsTransformer,
    KeywordsTransformer,
    LongContextReorder,
    PropositionsTransformer,
    SummarizeAndQuestionsTransformer,
    SummarizeTransformer,
)
from langchain_rag.errors import ConfigurationError, TransformerError

BOTH = "SUMMARY: Sets.\nQUESTIONS:\n1. What is a set?\n2. What is a member?"
KINDS = [GenerateQuestionsTransformer, SummarizeTransformer, SummarizeAndQuestionsTransformer]


def texts(documents):
    return [one.page_content for one in documents]


def answer_about(prompt):
    return f"What is {prompt.split()[0]}?"


@pytest.mark.parametrize(
    "kind", [*KINDS, KeywordsTransformer, PropositionsTransformer, ContextualSplitter]
)
def test_from_llm_names_the_arguments_which_the_class_describes(kind):
    parameters = signature(kind.from_llm).parameters
    assert parameters == signature(kind).parameters
    assert list(parameters)[:1] == ["llm"]
    assert {"prompt", "version", "max_attempts"} < set(parameters)
    _, described = kind.__doc__.split("    Args:\n")
    assert [name for name in parameters if f"        {name}: " not in described] == []


def test_type_checkers_know_the_arguments_of_from_llm() -> None:
    llm = FakeListChatModel(responses=["x"])
    made = GenerateQuestionsTransformer.from_llm(llm=llm, prompt="{context}", nb_of_questions=2)
    assert_type(made, GenerateQuestionsTransformer)
    kind: type[GenerateQuestionsTransformer] = GenerateQuestionsTransformer
    assert_type(kind.from_llm(llm, "{context}"), GenerateQuestionsTransformer)
    # mypy would say that these comments are of no use, if it did not see what is wrong.
    with pytest.raises(TypeError):
        GenerateQuestionsTransformer.from_llm(llm, nb_of_questions="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        SummarizeTransformer.from_llm(llm, nb_of_questions=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ContextualSplitter.from_llm(llm)  # type: ignore[call-arg]


class OwnQuestions(GenerateQuestionsTransformer):
    def __init__(self, llm, *, prompt=None, **options):
        super().__init__(llm, prompt=prompt, **options)


class OwnContexts(ContextualSplitter):
    def __init__(self, llm, splitter, *, prompt=None, **options):
        super().__init__(llm, splitter, prompt=prompt, **options)


def test_from_llm_of_a_subclass_that_takes_the_prompt_by_name() -> None:
    llm, splitter = FakeListChatModel(responses=["x"]), CopyDocumentTransformer()
    questions: Any = OwnQuestions.from_llm(llm, "Of {context}", nb_of_questions=2)
    assert (questions.prompt.template, questions.nb_of_questions) == ("Of {context}", 2)
    contexts: Any = OwnContexts.from_llm(llm, splitter, "Of {document} {chunk}")
    assert contexts.prompt.template == "Of {document} {chunk}"
    with pytest.raises(TypeError, match="prompt"):
        SummarizeTransformer.from_llm(llm, "{context}", prompt="{context}")  # type: ignore[misc]


class Recorder(BaseCallbackHandler):
    def __init__(self):
        self.starts = []

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.starts.append((kwargs["tags"], kwargs["metadata"]))


def test_questions(transform, scripted):
    llm = scripted("1. What is a set?\n2. What is a set?\n3. Is it?\n4. Or?\n5. Why is that?")
    transformer = GenerateQuestionsTransformer.from_llm(llm, nb_of_questions=3)
    metadata = {"a": [1], LINEAGE: "L"}
    made = transform(transformer, [Document("Sets.", id="7", metadata=metadata)])
    assert texts(made) == ["What is a set?", "Is it?", "Or?"]
    assert made[0].metadata == {
        "a": [1],
        LINEAGE: "L",
        TRANSFORMER: "GenerateQuestionsTransformer",
        KIND: "questions",
    }
    assert made[0].id is None
    made[0].metadata["a"].append(2)
    assert metadata["a"] == [1]
    assert made[1].metadata["a"] == [1]
    assert "Sets." in llm.prompts[0]
    assert "3 questions" in llm.prompts[0]
    assert "language of the text" in llm.prompts[0]


def test_summary(transform, scripted):
    made = transform(
        SummarizeTransformer.from_llm(scripted("Summary: Short.")), [Document("x")]
    )
    assert texts(made) == ["SUMMARY:\nShort."]
    assert made[0].metadata == {TRANSFORMER: "SummarizeTransformer", KIND: "summary"}


def test_both_from_one_call(transform, scripted):
    llm = scripted(BOTH)
    made = transform(SummarizeAndQuestionsTransformer.from_llm(llm), [Document("x")])
    assert texts(made) == ["SUMMARY:\nSets.", "What is a set?", "What is a member?"]
    assert [one.metadata[KIND] for one in made] == ["summary", "questions", "questions"]
    assert {one.metadata[TRANSFORMER] for one in made} == {"SummarizeAndQuestionsTransformer"}
    assert len(llm.prompts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_order_is_that_of_the_documents_whichever_answer_comes_first(transform, scripted, kind):
    llm = scripted(lambda prompt: f"What is {prompt.split()[0]}?")
    documents = [Document(f"d{number}") for number in range(20)]
    made = transform(kind.from_llm(llm), documents)
    found = [one.page_content.splitlines()[-1] for one in made]
    assert found == [f"What is d{number}?" for number in range(20)]


@pytest.mark.parametrize("kind", KINDS)
def test_blank_documents_cost_no_call(transform, scripted, kind):
    llm = scripted("Is it?")
    assert transform(kind.from_llm(llm), [Document(""), Document(" \n")]) == []
    assert llm.prompts == []


def test_one_half_is_used_with_a_warning(transform, scripted, caplog):
    both = SummarizeAndQuestionsTransformer.from_llm(scripted("Is it?"))
    assert texts(transform(both, [Document("x", id="7")])) == ["Is it?"]
    assert "no summary in the model's answer for document '7'" in caplog.text
    both = SummarizeAndQuestionsTransformer.from_llm(scripted("SUMMARY: It is."))
    assert texts(transform(both, [Document("x", id="7")])) == ["SUMMARY:\nIt is."]
    assert "no questions in the model's answer" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_with_nothing_usable_names_the_chunk(transform, scripted, kind):
    llm = scripted(lambda prompt: "" if "bad" in prompt else BOTH)
    documents = [Document("good"), Document("bad", id="c-7"), Document("bad too")]
    with pytest.raises(TransformerError, match=r"(?s)'c-7', asked 2 times.*1 more of 3"):
        transform(kind.from_llm(llm), documents)
    asked = Counter(prompt.splitlines()[0] for prompt in llm.prompts)
    if transform.__name__.startswith("eager"):
        assert asked == {"good": 1, "bad": 2, "bad too": 2}


def test_an_unusable_answer_is_asked_for_again(transform, scripted):
    answers = iter(["", "Is it?"])
    llm = scripted(lambda prompt: next(answers))
    assert texts(transform(GenerateQuestionsTransformer.from_llm(llm), [Document("x")])) == [
        "Is it?"
    ]
    once = GenerateQuestionsTransformer.from_llm(scripted(""), max_attempts=1)
    with pytest.raises(TransformerError, match="beginning with 'x', asked 1 times"):
        transform(once, [Document("x")])


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_call_names_the_chunk_and_its_cause(transform, scripted, kind):
    error = RuntimeError("overloaded")
    llm = scripted(lambda prompt: error if "bad" in prompt else BOTH)
    documents = [Document("good", id="1"), Document("bad", id="2"), Document("bad", id="3")]
    with pytest.raises(TransformerError, match=r"document '2' \(2 of 3 calls") as caught:
        transform(kind.from_llm(llm), documents)
    assert caught.value.__cause__ is error
    assert len(llm.prompts) == 3


@pytest.mark.parametrize("limit", [1, 3])
def test_max_concurrency_is_honoured(transform, scripted, limit):
    llm = scripted("Is it?", seconds=0.01)
    transformer = CopyDocumentTransformer() | (
        GenerateQuestionsTransformer.from_llm(llm) + SummarizeTransformer.from_llm(llm)
    )
    documents = [Document(f"d{number}") for number in range(9)]
    transform(transformer, documents, {"max_concurrency": limit})
    assert len(llm.prompts) == 18
    assert llm.peak == limit


def test_there_is_a_bound_where_nobody_gives_one(scripted):
    llm = scripted("Is it?", seconds=0.01)
    transformer = GenerateQuestionsTransformer.from_llm(llm)
    documents = [Document(f"d{number}") for number in range(50)]
    asyncio.run(transformer.atransform_documents(documents))
    assert llm.peak == 16


@pytest.mark.parametrize("structured", [None, False])
def test_config_reaches_every_call(transform, scripted, structured):
    llm = scripted(BOTH)
    transformer = DocumentTransformerPipeline([CopyDocumentTransformer()]) | (
        GenerateQuestionsTransformer.from_llm(llm)
        + SummarizeTransformer.from_llm(llm)
        + SummarizeAndQuestionsTransformer.from_llm(llm, structured=structured)
    )
    recorder = Recorder()
    config = {
        "callbacks": [recorder],
        "tags": ["mine"],
        "metadata": {"job": 7},
        "run_id": "7d3d1b3e-2b1c-4a53-8e7c-3d5f1f7b5a10",
    }
    transform(transformer, [Document("a"), Document("b")], config)
    assert len(recorder.starts) == len(llm.prompts) == 6
    assert all("mine" in tags for tags, _ in recorder.starts)
    assert all(metadata["job"] == 7 for _, metadata in recorder.starts)


def test_braces_and_what_cannot_be_sent_are_no_obstacle(transform, scripted):
    llm = scripted("Is it?")
    transform(
        GenerateQuestionsTransformer.from_llm(llm), [Document("{a} {{b}} {\x00\ud800} %s")]
    )
    assert "{a} {{b}} {} %s" in llm.prompts[0]


def test_prompt_and_input_can_be_replaced(transform, scripted):
    llm = scripted("Is it?")
    seen = []

    def get_input(document):
        seen.append(document)
        return {"title": document.metadata["title"], "n": 1}

    transformer = GenerateQuestionsTransformer.from_llm(
        llm, "Ask {nb_of_questions} about {title} ({n}).", get_input=get_input
    )
    given = Document("x", id="7", metadata={"title": "Sets", LINEAGE: "L"})
    transform(transformer, [given])
    assert llm.prompts == ["Ask 3 about Sets (1)."]
    assert seen == [Document("x", id="7", metadata={"title": "Sets"})]
    chat = ChatPromptTemplate.from_messages([("human", "About {context}")])
    transform(SummarizeTransformer.from_llm(llm, chat), [Document("x")])
    assert llm.prompts[1] == "About x"
    both = SummarizeAndQuestionsTransformer.from_llm(
        llm, PromptTemplate.from_template("Both of {context}")
    )
    transform(both, [Document("x")])
    assert llm.prompts[2] == "Both of x"


def test_an_echoed_prompt_is_dropped(transform, scripted):
    llm = scripted(lambda prompt: prompt + "\nWhat is a set?")
    transformer = GenerateQuestionsTransformer.from_llm(
        llm, "{context}\nWhich {nb_of_questions} questions does it answer?"
    )
    assert texts(transform(transformer, [Document("x")])) == ["What is a set?"]


@pytest.mark.parametrize(
    "make",
    [
        lambda llm: GenerateQuestionsTransformer.from_llm(llm, nb_of_questions=0),
        lambda llm: SummarizeAndQuestionsTransformer.from_llm(llm, nb_of_questions=-1),
        lambda llm: SummarizeTransformer.from_llm(llm, max_attempts=0),
        lambda llm: SummarizeTransformer.from_llm(llm, "{text}"),
        lambda llm: SummarizeAndQuestionsTransformer.from_llm(llm, structured=True),
    ],
)
def test_what_cannot_work_is_refused(make, scripted):
    with pytest.raises(ConfigurationError):
        make(scripted("Is it?"))


def test_an_input_that_the_prompt_misses_is_named(transform, scripted):
    transformer = SummarizeTransformer.from_llm(
        scripted("x"), "{title}", get_input=lambda document: {"name": "x"}
    )
    with pytest.raises(ConfigurationError, match=r"needs \['title'\], and is given \['name'\]"):
        transform(transformer, [Document("x")])


def test_blocks_of_content_are_read(transform, scripted):
    blocks = [
        {"type": "reasoning", "reasoning": "Why?"},
        {"type": "text", "text": "Is it?\n"},
        {"type": "text", "text": "Was it?"},
    ]
    transformer = GenerateQuestionsTransformer.from_llm(scripted(blocks))
    assert texts(transform(transformer, [Document("x")])) == ["Is it?", "Was it?"]


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_other_shapes(transform, kind):
    for llm in [
        FakeListLLM(responses=[BOTH]),
        FakeListChatModel(responses=[BOTH]),
        FakeListChatModel(responses=[BOTH]).bind(stop=["x"]),
        RunnableLambda(lambda prompt: BOTH),
    ]:
        made = transform(kind.from_llm(llm), [Document("x"), Document("y")])
        assert len(made) >= 2


def test_a_completion_model_fails_one_by_one(transform):
    class Completion(LLM):
        @property
        def _llm_type(self):
            return "completion"

        def _call(self, prompt, stop=None, run_manager=None, **kwargs):
            if "bad" in prompt:
                raise RuntimeError(prompt)
            return "Is it?"

    transformer = GenerateQuestionsTransformer.from_llm(Completion())
    assert texts(transform(transformer, [Document("a"), Document("b")])) == ["Is it?"] * 2
    documents = [Document("a"), Document("bad", id="7"), Document("c")]
    if transform.__name__.startswith("eager"):
        with pytest.raises(TransformerError, match=r"'7' \(1 of 3 calls"):
            transform(transformer, documents)


def test_one_document(scripted):
    transformer = GenerateQuestionsTransformer.from_llm(scripted("Is it?"))
    assert texts(transformer.transform_document(Document("x"))) == ["Is it?"]


def test_lazy_asks_for_a_window_at_a_time(scripted):
    llm = scripted("Is it?")
    transformer = GenerateQuestionsTransformer.from_llm(llm)
    documents = (Document(f"d{number}") for number in range(100))
    stream = transformer.lazy_transform_documents(documents)
    assert next(stream).page_content == "Is it?"
    assert len(llm.prompts) == 32


@pytest.mark.parametrize("count", range(7))
async def test_reorder(count):
    given = [Document(str(rank), id=str(rank), metadata={"a": [rank]}) for rank in range(count)]
    made = LongContextReorder().transform_documents(given)
    assert made == await LongContextReorder().atransform_documents(given)
    assert sorted(texts(made)) == texts(given)
    # From each end inwards, relevance falls.
    ranks = [int(text) for text in texts(made)]
    middle = ranks.index(count - 1) if ranks else 0
    assert ranks[: middle + 1] == sorted(ranks[: middle + 1])
    assert ranks[middle:] == sorted(ranks[middle:], reverse=True)
    assert all(one.metadata.keys() == {"a"} for one in made)
    for one in made:
        one.metadata["a"].append(-1)
    assert all(len(one.metadata["a"]) == 1 for one in given)


async def test_reorder_is_a_member_of_langchains_compressor_pipeline():
    from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline

    pipeline = DocumentCompressorPipeline(transformers=[LongContextReorder()])
    documents = [Document(str(rank)) for rank in range(1, 5)]
    assert texts(pipeline.compress_documents(documents, "q")) == ["1", "3", "4", "2"]
    assert texts(await pipeline.acompress_documents(documents, "q")) == ["1", "3", "4", "2"]
