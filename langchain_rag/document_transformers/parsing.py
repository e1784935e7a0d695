"""What is usable in a model's answer. Plain functions of text.

Models number their lines, introduce them, repeat them, repeat the prompt, think aloud, or
answer with JSON; small local ones do all of it at once. What is left after cleaning may be
nothing, which is for the caller to report.
"""

from __future__ import annotations

import json
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from langchain_rag.document_transformers._patterns import (
    ANSWER,
    ANY_MARK,
    BULLET,
    CONSENT,
    FENCE,
    MARKS,
    PREAMBLE,
    QUESTION_END,
    QUESTIONS_LABEL,
    SUMMARY_LABEL,
    SURROGATE_OR_NUL,
    THOUGHTS,
    WORD,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterable

__all__ = [
    "lines_of",
    "printable",
    "questions_of",
    "summary_and_questions_of",
    "summary_of",
]

Json: TypeAlias = "str | float | dict[str, Json] | list[Json] | None"


def printable(text: str) -> str:
    r"""Return the text without what cannot be stored or sent.

    Args:
        text: Any text.

    Returns:
        The text without NUL characters and lone surrogates.

    Example:
        >>> printable("pure\x00 maths\ud800")
        'pure maths'
    """
    return SURROGATE_OR_NUL.sub("", text)


def lines_of(text: str) -> frozenset[str]:
    """Return the lines of a text in the form in which echoes are compared.

    Args:
        text: A prompt, or a part of one.

    Returns:
        Lines without case, numbering, spacing and punctuation at their ends.
    """
    return frozenset(filter(None, map(_compared, text.splitlines())))


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
    lines = _lines(_unwrapped(answer, "questions"))
    asked = [question for line in lines for question in _asked(line)]
    if not asked:
        asked = _without_introductions(list(map(_unnumbered, lines)))
    return _distinct(asked, echoes)[:limit]


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
    for line in _lines(_unwrapped(answer, "summary")):
        rest = SUMMARY_LABEL.sub("", line).strip()
        if rest and _compared(rest) not in echoes:
            lines.append(rest)
    lines = _without_introductions(lines)
    copied = lines_of(text)
    own = [line for line in lines if _compared(line) not in copied]
    return "\n".join(_distinct(own or lines, ()))


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
    data = _json_of(answer)
    if isinstance(data, dict) and {"summary", "questions"} & data.keys():
        summary, questions = _texts(data.get("summary")), _texts(data.get("questions"))
    else:
        summary, questions = _sections(_lines(answer))
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
    text = _unnumbered(line)
    if ANSWER.match(text):
        return []
    # Splitting is linear, where a search for "anything, then a mark" is quadratic.
    parts = QUESTION_END.split(text)
    if len(parts) == 1:
        parts = ANY_MARK.split(text)
    return [
        _unnumbered(words + end) for words, end in zip(parts[::2], parts[1::2], strict=False)
    ]


def _lines(answer: str) -> list[str]:
    text = printable(THOUGHTS.sub("", answer))
    lines = (line.strip() for line in text.splitlines() if not FENCE.match(line))
    return [_unlooped(line) for line in lines if line]


def _unlooped(line: str) -> str:
    """Cut a long line where it begins to repeat itself, as small models do to the end."""
    if len(line) <= 300:
        return line
    starts: dict[tuple[str, ...], list[int]] = {}
    last: deque[re.Match[str]] = deque(maxlen=4)
    for word in WORD.finditer(line):
        last.append(word)
        found = starts.setdefault(tuple(one.group().casefold() for one in last), [])
        found.append(last[0].start())
        if len(found) == 3:
            return line[: found[1]].strip()
    return line


def _unnumbered(line: str) -> str:
    """Return a line without its bullet, its number and its quotes."""
    before = None
    while line != before:
        before = line
        line = BULLET.sub("", line, count=1).strip()
        line = line.strip('"“”«»`').rstrip("*_ ").strip()
    return line


# The prompt's own lines are compared with every answer's.
@lru_cache(maxsize=2048)
def _compared(line: str) -> str:
    words = _unnumbered(line).casefold().split()
    return " ".join(words).strip(" .:;,!*_\"'" + MARKS)


def _without_introductions(lines: list[str]) -> list[str]:
    """Drop lines that announce others; a sentence that only sounds so is all there is."""
    lines = [
        line for line in lines if not line.endswith((":", "\uff1a")) and not CONSENT.match(line)
    ]
    return [line for line in lines if not PREAMBLE.match(line)] or lines


def _distinct(lines: Iterable[str], echoes: Collection[str]) -> list[str]:
    found: dict[str, str] = {}
    for line in lines:
        key = _compared(line)
        if sum(map(str.isalnum, line)) >= 2 and key not in echoes:
            found.setdefault(key, line)
    return list(found.values())


def _unwrapped(answer: str, key: str) -> str:
    """Return the text of an answer that may be JSON."""
    data = _json_of(answer)
    return "\n".join(_texts(data.get(key) if isinstance(data, dict) else data)) or answer


def _texts(data: Json) -> list[str]:
    if isinstance(data, str):
        return data.splitlines()
    if isinstance(data, dict):
        data = list(data.values())
    return [text for item in data for text in _texts(item)] if isinstance(data, list) else []


def _json_of(answer: str) -> Json:
    if "{" not in answer and "[" not in answer:
        return None
    lines = _lines(answer)
    # It may be announced.
    while lines and lines[0].endswith((":", "\uff1a")):
        lines = lines[1:]
    text = "\n".join(lines)
    if not text.startswith(("{", "[")):
        return None
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return None
