from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_rag._reserved import KIND, LINEAGE, TRANSFORMER
from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    PropositionsTransformer,
    reads_metadata,
)
from langchain_rag.document_transformers.llm.parsing import statements_of
from langchain_rag.errors import ConfigurationError, TransformerError

TWO = ["Cantor was born in 1845.", "Cantor taught in Halle."]


@pytest.mark.parametrize(
    "answer",
    [
        "{}\n{}",
        "1. {}\n2. {}",
        "- {}\n- {}",
        "* **{}**\n* **{}**",
        '1) "{}"\n\n2) "{}"',
        "Here are the propositions:\n\n{}\n{}",
        "Sure! Here are the statements.\n{}\n{}",
        "**Propositions:**\n{}\n{}",
        "### Propositions\n{}\n{}",
        "Proposition 1: {}\nProposition 2: {}",
        "Statement 1. {}\nStatement 2. {}",
        "**Fact 1:** {}\n**Fact 2:** {}",
        "Aussage 1: {}\nAussage 2: {}",
        "<think>What does it say?</think>{}\n{}",
        "{}\n{}\n1. CANTOR TAUGHT IN HALLE\n2. ...",
        '["{}", "{}"]',
        '```json\n{{"propositions": ["{}", "{}"]}}\n```',
        '[{{"proposition": "{}"}}, {{"proposition": "{}"}}]',
        '[\n  "{}",\n  "{}",\n',  # cut off
        "{}\r\n{}\x00\ud800",
    ],
)
def test_statements_are_found(answer):
    assert statements_of(answer.format(*TWO), limit=9) == TWO


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Facts matter to Cantor.", ["Facts matter to Cantor."]),
        ("The claim 3 of Cantor holds.", ["The claim 3 of Cantor holds."]),
        ("集合有元素。\n康托尔创立了集合论。", ["集合有元素。", "康托尔创立了集合论。"]),
        ("", []),
        ("Here are the propositions:\n\n---", []),
    ],
)
def test_what_only_looks_so_stays(answer, found):
    assert statements_of(answer, limit=9) == found


@given(st.text(max_size=400))
def test_any_answer_can_be_read(answer):
    found = statements_of(answer, limit=3)
    assert len(found) <= 3
    assert all(one.strip() == one and one for one in found)


def test_a_hostile_answer_takes_no_time():
    start = time.perf_counter()
    for answer in ("the " * 50_000, "* _" * 50_000, "fact " * 50_000, "1. " * 50_000):
        statements_of(answer, limit=9)
    assert time.perf_counter() - start < 5


def test_each_is_a_variation(transform, scripted):
    llm = scripted(lambda prompt: "\n".join(f"{n}. {prompt.split()[0]} {n}!" for n in (1, 2)))
    documents = [Document(f"d{n}", metadata={"a": [n], LINEAGE: "L"}) for n in range(3)]
    made = transform(PropositionsTransformer.from_llm(llm), documents)
    assert [one.page_content for one in made] == [
        f"d{n} {m}!" for n in range(3) for m in (1, 2)
    ]
    assert made[3].metadata == {
        "a": [1],
        LINEAGE: "L",
        TRANSFORMER: "PropositionsTransformer",
        KIND: "propositions",
    }
    assert len(llm.prompts) == 3
    assert all("one statement per line" in prompt.casefold() for prompt in llm.prompts)


def test_lines_of_the_prompt_are_dropped(transform, scripted):
    llm = scripted(lambda prompt: f"{prompt}\n{TWO[0]}")
    made = transform(PropositionsTransformer.from_llm(llm), [Document(TWO[1])])
    assert [one.page_content for one in made] == [TWO[1], TWO[0]]


def test_a_model_without_an_end_is_cut_off_and_the_log_says_so(transform, scripted, caplog):
    llm = scripted("\n".join(f"Number {n} is a number." for n in range(200)))
    one = PropositionsTransformer.from_llm(llm, max_propositions=5)
    assert len(transform(one, [Document("x", id="7")])) == 5
    assert "document '7' has more than 5 propositions" in caplog.text
    caplog.clear()
    many = PropositionsTransformer.from_llm(llm, max_propositions=200)
    assert len(transform(many, [Document("x")])) == 200
    assert caplog.text == ""


def test_nothing_usable_is_an_error(transform, scripted):
    llm = scripted("Here you are:")
    with pytest.raises(
        TransformerError, match=r"nothing usable .* document '7', asked 2 times"
    ):
        transform(PropositionsTransformer.from_llm(llm), [Document("x", id="7")])


def title_and_text(document):
    return {"context": f"{document.metadata['title']}: {document.page_content}"}


def test_fingerprint_and_metadata(scripted):
    llm = scripted("x y")

    def one(**options):
        return PropositionsTransformer.from_llm(llm, version="1", **options)

    prints = {
        made.fingerprint
        for made in (
            one(),
            one(max_propositions=5),
            one(prompt="Say {context}"),
            one(get_input=title_and_text),
        )
    }
    assert len(prints) == 4
    assert None not in prints
    assert one().fingerprint == one().fingerprint
    assert not reads_metadata(one() + CopyDocumentTransformer())
    assert reads_metadata(one(get_input=title_and_text))
    with pytest.raises(ConfigurationError, match="max_propositions is 0"):
        one(max_propositions=0)
    with pytest.raises(ConfigurationError, match="needs \\['title'\\]"):
        one(prompt="{title} {context}")
