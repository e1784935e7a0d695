from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_text_splitters import (
    CharacterTextSplitter,
    Language,
    RecursiveCharacterTextSplitter,
)

from langchain_rag._identity import NoIdentityError, identity
from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    DocumentTransformerPipeline,
    DocumentTransformers,
    GenerateQuestionsTransformer,
    LazyDocumentTransformer,
    LongContextReorder,
    SummarizeAndQuestionsTransformer,
    SummarizeTransformer,
    fingerprint_of,
)
from langchain_rag.document_transformers.llm.calls import text_of

LLM = FakeListChatModel(responses=["Is it?"])
NAMELESS = GenericFakeChatModel(messages=iter([]))


class Mine(LazyDocumentTransformer):
    def __init__(self, size=1, version=None):
        self.size = size
        self.client = object()
        self._calls = 0
        self.version = version

    def transform_document(self, document):
        self._calls += 1
        return [document]


class MySplitter(CharacterTextSplitter):
    pass


class MyCopy(CopyDocumentTransformer):
    pass


class MyQuestions(GenerateQuestionsTransformer):
    pass


class MyPipeline(DocumentTransformerPipeline):
    pass


def distinct(*transformers):
    found = [fingerprint_of(transformer) for transformer in transformers]
    assert None not in found
    assert len(set(found)) == len(found)
    return True


def test_every_part_tells_in_the_fingerprint_of_a_model_caller():
    make = GenerateQuestionsTransformer.from_llm
    named: Any = text_of
    assert make(LLM).fingerprint == make(FakeListChatModel(responses=["Is it?"])).fingerprint
    assert distinct(
        make(LLM),
        make(FakeListChatModel(responses=["Or?"])),
        make(LLM, nb_of_questions=4),
        make(LLM, "Ask about {context}"),
        make(LLM, version="1"),
        make(LLM, version="2"),
        make(LLM.bind(stop=["x"])),
        make(LLM, get_input=named),
        SummarizeTransformer.from_llm(LLM),
        SummarizeAndQuestionsTransformer.from_llm(LLM),
        SummarizeAndQuestionsTransformer.from_llm(LLM, nb_of_questions=4),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"llm": NAMELESS},
        {"llm": RunnableLambda(lambda prompt: "Is it?")},
        {"llm": LLM, "get_input": lambda document: {"context": "x"}},
        {"llm": LLM, "get_input": partial(dict)},
        {
            "llm": LLM,
            "prompt": PromptTemplate(
                template="{context} {now}",
                input_variables=["context"],
                partial_variables={"now": lambda: "now"},
            ),
        },
    ],
)
def test_a_part_without_identity_needs_a_version(arguments):
    make = GenerateQuestionsTransformer.from_llm
    assert make(**arguments).fingerprint is None
    assert distinct(make(**arguments, version="1"), make(**arguments, version="2"))


def test_structured_output_tells():
    class Structured(FakeListChatModel):
        def with_structured_output(self, schema, **kwargs):
            return RunnableLambda(lambda prompt: None)

    make = SummarizeAndQuestionsTransformer.from_llm
    llm = Structured(responses=["x"])
    assert distinct(make(llm), make(llm, structured=False))


def test_a_transformer_of_your_own_needs_a_version():
    assert Mine().fingerprint is None
    assert MyCopy().fingerprint is None
    assert MyQuestions.from_llm(LLM).fingerprint is None
    assert MyPipeline([]).fingerprint is None
    used = Mine(version="1")
    used.transform_documents([Document("x")])
    assert used.fingerprint == Mine(version="1").fingerprint
    assert distinct(
        used, Mine(version="2"), Mine(2, version="1"), MyQuestions.from_llm(LLM, version="1")
    )


def test_composed_ones_are_their_members():
    a, b = CopyDocumentTransformer(), CharacterTextSplitter(chunk_size=9, chunk_overlap=0)
    assert (a + b).fingerprint == DocumentTransformers([a, b]).fingerprint
    assert distinct(a, a + b, b + a, a | b, b | a, a + a, DocumentTransformers([]))
    assert (a + Mine()).fingerprint is None
    assert (a | LongContextReorder()).fingerprint is None


def test_splitters():
    make = RecursiveCharacterTextSplitter
    assert distinct(
        make(chunk_size=500),
        make(chunk_size=600),
        make(chunk_size=500, separators=["\n"]),
        make(chunk_size=500, keep_separator=False),
        make.from_language(Language.PYTHON),
        CharacterTextSplitter(chunk_size=500),
    )
    assert fingerprint_of(make()) == fingerprint_of(make(length_function=len))
    assert fingerprint_of(make(length_function=lambda text: 1)) is None
    assert fingerprint_of(MySplitter()) is None


def test_others_answer_for_themselves():
    class Theirs(BaseDocumentTransformer):
        fingerprint = "mine-1"

        def transform_documents(self, documents, **kwargs):
            return documents

    assert fingerprint_of(Theirs()) == "mine-1"
    assert fingerprint_of(LongContextReorder()) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (1, "1"),
        (["a"], ["b"]),
        ([["a"], "b"], ["a", ["b"]]),
        ({"a": 1}, {"a": 2}),
        ({"a"}, ["a"]),
        (None, "None"),
        (float("nan"), float("inf")),
        (len, max),
        (str, "str"),
    ],
)
def test_different_values_have_different_identities(one, other):
    import json

    assert json.dumps(identity(one)) != json.dumps(identity(other))


def test_equal_values_have_equal_identities():
    assert identity({"b", "a"}) == identity({"a", "b"})
    assert identity({"b": 1, "a": 2}) == identity({"a": 2, "b": 1})


@pytest.mark.parametrize(
    "value", [object(), lambda: 1, {1: 2}, b"x", [object()], partial(len), type("X", (), {})]
)
def test_what_has_no_identity_says_so(value):
    with pytest.raises(NoIdentityError):
        identity(value)


def test_an_enum_has_one():
    assert identity(Language.PYTHON) != identity(Language.GO)


def test_main_has_none():
    import __main__

    def function():
        return 1

    function.__module__, function.__qualname__ = "__main__", "function"
    __main__.function = function
    try:
        with pytest.raises(NoIdentityError):
            identity(function)
    finally:
        del __main__.function


def test_it_is_the_same_in_every_process():
    script = (
        "from langchain_core.language_models import FakeListChatModel\n"
        "from langchain_text_splitters import CharacterTextSplitter\n"
        "from langchain_rag.document_transformers import *\n"
        "llm = FakeListChatModel(responses=['Is it?'])\n"
        "print((CharacterTextSplitter() | (CopyDocumentTransformer()"
        " + GenerateQuestionsTransformer.from_llm(llm))).fingerprint)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    ).stdout.strip()
    here = CharacterTextSplitter() | (
        CopyDocumentTransformer() + GenerateQuestionsTransformer.from_llm(LLM)
    )
    assert found == here.fingerprint
