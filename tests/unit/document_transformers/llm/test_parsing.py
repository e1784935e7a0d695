from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.document_transformers.llm.parsing import (
    lines_of,
    printable,
    questions_of,
    summary_and_questions_of,
    summary_of,
)


@pytest.mark.parametrize(
    "line",
    [
        "What is a set?",
        "1. What is a set?",
        "1) What is a set?",
        "(1) What is a set?",
        "1.What is a set?",
        "12: What is a set?",
        "1 - What is a set?",
        "- What is a set?",
        "* What is a set?",
        "• What is a set?",
        "a) What is a set?",
        "Q1: What is a set?",
        "Q: What is a set?",
        "Question 1: What is a set?",
        "**Question 1:** What is a set?",
        "**1. What is a set?**",
        "### 1. What is a set?",
        '"What is a set?"',
        '- "What is a set?"',
        "What is a set? A set has members.",
        "\x00What is a set?\ud800",
        "<think>What do they want?</think>What is a set?",
        "Sure! Here are 3 questions:\nWhat is a set?",
        "What is a set?\nWHAT IS A SET?\n2. What is a set ?",
        "```\nWhat is a set?\n```",
        '["What is a set?"]',
        '```json\n{"questions": ["What is a set?"]}\n```',
        '{"questions": [{"question": "What is a set?"}]}',
        "What is a set?\nAnswer: Is it one? Yes.",
        "What is a set?\n\n???\n?",
    ],
)
def test_a_question_is_found(line):
    assert questions_of(line, limit=3) == ["What is a set?"]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("¿Qué es un conjunto?", ["¿Qué es un conjunto?"]),
        ("Frage 1: Was ist eine Menge?", ["Was ist eine Menge?"]),
        ("1. 集合とは何ですか？", ["集合とは何ですか？"]),  # noqa: RUF001
        ("1. เซตคืออะไร\n2. สมาชิกคืออะไร", ["เซตคืออะไร", "สมาชิกคืออะไร"]),
        ("3.14 is which number?", ["3.14 is which number?"]),
        ("Who was U.S. president in 1984?", ["Who was U.S. president in 1984?"]),
        ("What is A? What is B?", ["What is A?", "What is B?"]),
        ("", []),
        ("Here are your questions:", []),
        ("Sure, I can do that.", []),
        ("{broken", ["{broken"]),
        ("[" * 100_000, []),
    ],
)
def test_questions_in_other_shapes(answer, found):
    assert questions_of(answer, limit=5) == found


def test_surplus_is_dropped():
    assert questions_of("Is it A?\nIs it B?\nIs it C?", limit=2) == ["Is it A?", "Is it B?"]


def test_lines_of_the_prompt_are_dropped():
    echoes = lines_of("Which questions does it answer?\nWrite 3 questions.")
    answer = "Write 3 questions.\n1. Which questions does it answer?\n2. What is a set?"
    assert questions_of(answer, limit=3, echoes=echoes) == ["What is a set?"]
    assert questions_of("Write 3 questions.", limit=3, echoes=echoes) == []


def test_a_model_that_loops_is_cut():
    answer = "1. What is the answer to " + "the question of what is the answer to " * 40
    [found] = questions_of(answer, limit=3)
    assert len(found) < 120
    long = " ".join(f"word{number}" for number in range(100)) + "?"
    assert questions_of(long, limit=3) == [long]


@pytest.mark.parametrize(
    "answer",
    [
        "Sets have members.",
        "Summary: Sets have members.",
        "SUMMARY:\nSets have members.",
        "**Summary:** Sets have members.",
        "## Summary\n\nSets have members.",
        "Sure, here is a summary:\n\nSets have members.",
        "Here is the summary of the text:\nSets have members.",
        "Sets have members.\nSets have members.",
        '{"summary": "Sets have members."}',
        "Summarize the text.\nSets have members.",
        "The text says this and that.\nSets have members.",
    ],
)
def test_a_summary_is_found(answer):
    echoes = lines_of("Summarize the text.")
    text = "The text says this and that."
    assert summary_of(answer, echoes=echoes, text=text) == "Sets have members."


def test_a_text_of_one_sentence_may_be_its_own_summary():
    assert summary_of("Sets exist.", text="Sets exist.") == "Sets exist."


@pytest.mark.parametrize(
    "answer", ["", "  \n", "Summary:", "Sure, here you are:", "...", "\x00"]
)
def test_nothing_usable_is_nothing(answer):
    assert summary_of(answer) == ""
    assert questions_of(answer, limit=3) == []
    assert summary_and_questions_of(answer, limit=3) == ("", [])


@pytest.mark.parametrize(
    "answer",
    [
        "SUMMARY: Sets.\nQUESTIONS:\n1. What is a set?",
        "SUMMARY:\nSets.\n\nQUESTIONS:\n- What is a set?",
        "**Summary:**\nSets.\n**Questions:**\n1. What is a set?",
        "QUESTIONS:\n1. What is a set?\nSUMMARY: Sets.",
        "Sets.\n1. What is a set?",
        "1. What is a set?\nSummary: Sets.",
        '{"summary": "Sets.", "questions": ["What is a set?"]}',
        '```json\n{"summary": "Sets.", "questions": "What is a set?"}\n```',
    ],
)
def test_both_are_found(answer):
    assert summary_and_questions_of(answer, limit=3) == ("Sets.", ["What is a set?"])


def test_one_of_both_is_found():
    assert summary_and_questions_of("SUMMARY: Sets.", limit=3) == ("Sets.", [])
    assert summary_and_questions_of("Is it?", limit=3) == ("", ["Is it?"])
    assert summary_and_questions_of('{"questions": ["Is it?"]}', limit=3) == ("", ["Is it?"])


answers = st.text() | st.text("12.)-*#:?aQ \n\t{}[]\"'`,", max_size=60)


@given(answers)
def test_whatever_the_answer(answer):
    found = questions_of(answer, limit=3)
    assert len(found) <= 3
    assert len({one.casefold() for one in found}) == len(found)
    summary, questions = summary_and_questions_of(answer, limit=3)
    for text in [*found, *questions, *filter(None, [summary, summary_of(answer)])]:
        assert text == text.strip()
        assert sum(map(str.isalnum, text)) >= 2
        assert text == printable(text)
        text.encode()


@given(
    st.lists(
        st.from_regex(r"[B-Z][b-z]{2,9}( [b-z]{2,9}){0,4}\?", fullmatch=True),
        min_size=1,
        unique_by=str.casefold,
    ),
    st.sampled_from(
        ["{}", "{n}. {}", "{n}) {}", "- {}", "* {}", "Q{n}: {}", "Question {n}: {}"]
    ),
    st.sampled_from(["", "Here are the questions:\n", "Sure!\n\n"]),
)
def test_clean_questions_survive_whatever_is_around_them(questions, form, before):
    answer = before + "\n".join(
        form.format(question, n=number) for number, question in enumerate(questions, 1)
    )
    assert questions_of(answer, limit=len(questions)) == questions


@pytest.mark.parametrize(
    "answer", ["a" * 1_000_000, "a " * 500_000, "a? " * 30_000, "1. " * 300]
)
def test_a_megabyte_in_one_line_takes_no_time(answer):
    started = time.perf_counter()
    questions_of(answer, limit=3)
    summary_and_questions_of(answer, limit=3)
    assert time.perf_counter() - started < 5
