"""What is usable in a model's answer. Plain functions of text.

Models number their lines, introduce them, repeat them, repeat the prompt, think aloud, or
answer with JSON; small local ones do all of it at once. What is left after cleaning may be
nothing, which is for the caller to report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag.document_transformers._answers import (
    compared,
    distinct,
    json_of,
    lines_in,
    printable,
    texts_in,
    unnumbered,
    unwrapped,
    without_introductions,
)
from langchain_rag.document_transformers._patterns import (
    ANSWER,
    ANY_MARK,
    QUESTION_END,
    QUESTIONS_LABEL,
    SUMMARY_LABEL,
)

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "lines_of",
    "printable",
    "questions_of",
    "summary_and_questions_of",
    "summary_of",
]


def lines_of(text: str) -> frozenset[str]:
    """Return the lines of a text in the form in which echoes are compared.

    Args:
        text: A prompt, or a part of one.

    Returns:
        Lines without case, numbering, spacing and punctuation at their ends.
    """
    return frozenset(filter(None, map(compared, text.splitlines())))


def questions_of(answer: str, *, limit: int, echoes: Collection[str] = ()) -> list[str]:
    r"""Return the questions in an answer.

    Where any line has a question mark, the lines without are dropped. Where none has (not
    every language writes one), all lines count but introductions.

    Args:
        answer: The model's answer.
        limit: How many to return at most.
        echoes: Lines of the prompt that are no questions, from `lines_of`.

    Returns:
        Questions, each once, in the order of the answer; perhaps none.

    Example:
        >>> questions_of("Here you are:\n1. What is a set?\n2) what is a SET?\n", limit=3)
        ['What is a set?']
    """
    lines = lines_in(unwrapped(answer, "questions"))
    asked = [question for line in lines for question in _asked(line)]
    if not asked:
        asked = without_introductions(list(map(unnumbered, lines)))
    return distinct(asked, echoes)[:limit]


def summary_of(answer: str, *, echoes: Collection[str] = (), text: str = "") -> str:
    r"""Return the summary in an answer.

    Args:
        answer: The model's answer.
        echoes: Lines of the prompt's own words, from `lines_of`.
        text: The text that was summarised. Lines of it are dropped where anything else is
            left: a text of one sentence may well be its own summary.

    Returns:
        The summary, without label and introduction; perhaps empty.

    Example:
        >>> summary_of("Sure, here is a summary:\n\n**Summary:** Sets have members.")
        'Sets have members.'
    """
    lines: list[str] = []
    for line in lines_in(unwrapped(answer, "summary")):
        rest = SUMMARY_LABEL.sub("", line).strip()
        if rest and compared(rest) not in echoes:
            lines.append(rest)
    lines = without_introductions(lines)
    copied = lines_of(text)
    own = [line for line in lines if compared(line) not in copied]
    return "\n".join(distinct(own or lines, ()))


def summary_and_questions_of(
    answer: str, *, limit: int, echoes: Collection[str] = (), text: str = ""
) -> tuple[str, list[str]]:
    r"""Return both parts of an answer that holds a summary and questions.

    Args:
        answer: The model's answer.
        limit: How many questions to return at most.
        echoes: Lines of the prompt's own words, from `lines_of`.
        text: The text that the answer is about.

    Returns:
        The summary, perhaps empty, and the questions, perhaps none.

    Example:
        >>> answer = "SUMMARY: Sets.\nQUESTIONS:\n- What is a set?"
        >>> summary_and_questions_of(answer, limit=3)
        ('Sets.', ['What is a set?'])
    """
    data = json_of(answer)
    if isinstance(data, dict) and {"summary", "questions"} & data.keys():
        summary, questions = texts_in(data.get("summary")), texts_in(data.get("questions"))
    else:
        summary, questions = _sections(lines_in(answer))
    return (
        summary_of("\n".join(summary), echoes=echoes, text=text),
        questions_of("\n".join(questions), limit=limit, echoes=echoes),
    )


def _sections(lines: list[str]) -> tuple[list[str], list[str]]:
    """Tell the summary's lines from the questions'."""
    labels = [at for at, line in enumerate(lines) if QUESTIONS_LABEL.match(line)]
    if labels:
        before, after = lines[: labels[0]], lines[labels[0] + 1 :]
        # Some answer the other way round.
        starts = [at for at, line in enumerate(after) if SUMMARY_LABEL.match(line)]
        if starts and not before:
            return after[starts[0] :], after[: starts[0]]
        return before, after
    questions = [line for line in lines if _asked(line)]
    return [line for line in lines if not _asked(line)], questions


def _asked(line: str) -> list[str]:
    """Return the questions of one line; what follows a question mark answers it."""
    text = unnumbered(line)
    if ANSWER.match(text):
        return []
    # Splitting is linear, where a search for "anything, then a mark" is quadratic.
    parts = QUESTION_END.split(text)
    if len(parts) == 1:
        parts = ANY_MARK.split(text)
    return [
        unnumbered(words + end) for words, end in zip(parts[::2], parts[1::2], strict=False)
    ]
