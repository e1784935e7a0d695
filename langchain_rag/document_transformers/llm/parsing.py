"""What is usable in a model's answer: texts, a list, or one sentence. Plain functions.

Models number their lines, introduce them, repeat them, repeat the prompt, think aloud, or
answer with JSON; small local ones do all of it at once. What is left after cleaning may be
nothing, which is for the caller to report.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from langchain_rag.document_transformers.llm.answers import (
    ANSWER,
    ANY_MARK,
    QUESTION_END,
    QUESTIONS_LABEL,
    SUMMARY_LABEL,
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

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


__all__ = [
    "keywords_of",
    "lines_of",
    "printable",
    "questions_of",
    "sentence_of",
    "statements_of",
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


_OF_STATEMENTS: Final = (
    "propositions?|statements?|facts?|claims?|aussagen?|tatsachen?|proposiciones|proposición"
    "|affirmations?|proposizion[ei]|afirmaciones"
)
_OF_KEYWORDS: Final = (
    r"key\s?words?|key\s?phrases?|key terms?|terms?|topics?|tags?|(?:named )?entit(?:y|ies)"
    "|(?:other |proper )?names?|people|persons?|places?|locations?|dates?|organi[sz]ations?"
    "|schl(?:ü|ue)sselw(?:ö|oe)rter|stichw(?:ö|oe)rter|mots[- ]clés|palabras clave"
    "|parole chiave"
)
_OF_SENTENCES: Final = (
    "context|sentence|answer|situating context|kontext|satz|contexte|contexto|contesto|frase"
)


def _label(words: str, *ends: str) -> re.Pattern[str]:
    """Match words that announce something: a number or a colon follows, or one of `ends`."""
    colon = "[:\uff1a]"
    following = "|".join(
        (rf"[*_]*\s*(?:\#?\d{{1,3}}\s*)?{colon}", r"\#?\d{1,3}\s*[.)-]", *ends)
    )
    pattern = rf"^(?:the\s+)?(?:{words})\s*(?:{following})[\s*_]*"
    return re.compile(pattern, re.IGNORECASE)


_STATEMENTS_LABEL: Final = _label(_OF_STATEMENTS, "$")
_KEYWORDS_LABEL: Final = _label(_OF_KEYWORDS)
_SENTENCE_LABEL: Final = _label(_OF_SENTENCES, "$")
_BETWEEN: Final = re.compile(r"\s*[,;|\uff0c\uff1b\u3001\u060c]\s*")
_JSON_END: Final = re.compile(r"""["'],?$""")
_MOST_WORDS: Final = 8
_MOST_CHARACTERS: Final = 80
"""Of a keyword; what has more is a sentence."""


def statements_of(answer: str, *, limit: int, echoes: Collection[str] = ()) -> list[str]:
    r"""Return the statements in an answer, which has one a line.

    Args:
        answer: The model's answer.
        limit: How many to return at most.
        echoes: Lines of the prompt that are no statements, from `lines_of`.

    Returns:
        Statements, each once, in the order of the answer; perhaps none.

    Example:
        >>> answer = "Here they are:\n1. Sets have members.\n2. sets have members\n"
        >>> statements_of(answer, limit=9)
        ['Sets have members.']
    """
    found = _items(unwrapped(answer, "propositions"), _STATEMENTS_LABEL)
    return distinct(without_introductions(found), echoes)[:limit]


def keywords_of(answer: str, *, limit: int, echoes: Collection[str] = ()) -> list[str]:
    r"""Return the keywords in an answer, which has one a line, or all in a line with commas.

    Args:
        answer: The model's answer.
        limit: How many to return at most.
        echoes: Lines of the prompt that are no keywords, from `lines_of`.

    Returns:
        Keywords, each once, in the order of the answer; perhaps none.

    Example:
        >>> keywords_of("Keywords: sets, members, Georg Cantor.", limit=9)
        ['sets', 'members', 'Georg Cantor']
        >>> keywords_of("- Halle\n- January 6, 1918", limit=9)
        ['Halle', 'January 6, 1918']
    """
    lines = without_introductions(_items(unwrapped(answer, "keywords"), _KEYWORDS_LABEL))
    parts = [part.rstrip(".").strip() for line in lines for part in _parted(line, len(lines))]
    # Models that are not sure explain themselves; a sentence finds nothing as a keyword.
    short = [
        part
        for part in parts
        if len(part) <= _MOST_CHARACTERS and len(part.split()) <= _MOST_WORDS
    ]
    # "R" is a language, and many words of Chinese are one sign.
    return distinct(short, echoes, least=1)[:limit]


def sentence_of(answer: str, *, echoes: Collection[str] = (), text: str = "") -> str:
    r"""Return the one sentence, or the few, in an answer.

    Args:
        answer: The model's answer.
        echoes: Lines of the prompt, from `lines_of`.
        text: What the sentence is about. Lines of it are dropped where anything else is left.

    Returns:
        The text in one line, without label and introduction; perhaps empty.

    Example:
        >>> sentence_of("Sure, here you are:\n\n**Context:** From the part on sets.")
        'From the part on sets.'
    """
    found = _items(unwrapped(answer, "context"), _SENTENCE_LABEL)
    found = distinct(without_introductions(found), echoes)
    copied = lines_of(text)
    return " ".join([line for line in found if compared(line) not in copied] or found)


def _items(text: str, label: re.Pattern[str]) -> list[str]:
    """Return the lines of a text without what numbers and announces them."""
    return list(filter(None, _each(lines_in(text), label)))


def _each(lines: Iterable[str], label: re.Pattern[str]) -> Iterator[str]:
    for line in lines:
        # JSON that was cut off is no JSON, and each of its lines ends so.
        whole = _JSON_END.sub("", line) if line.startswith(('"', "'")) else line
        yield unnumbered(label.sub("", unnumbered(whole), count=1))


def _parted(line: str, lines: int) -> list[str]:
    """Tell a line of many keywords from one that has a comma of its own (a date, a place)."""
    parts = [part for part in _BETWEEN.split(line) if part]
    return parts if lines == 1 or len(parts) > 2 else [line]
