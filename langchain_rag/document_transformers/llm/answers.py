"""What models put around and between the lines that they were asked for. Plain functions."""

from __future__ import annotations

import json
import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from langchain_rag.caches.codec import UNSTORABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


THOUGHTS: Final = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
FENCE: Final = re.compile(r"^\s*(```|~~~)\s*\w*\s*$")
MARKS: Final = "?\uff1f\u061f\u2e2e\u055e\u037e"
COLON: Final = "[:\uff1a]"
CLOSERS: Final = "[\"'\u201d\u2019\u00bb)\\]*]*"
QUESTION_END: Final = re.compile(rf"([{MARKS[1:]}]+{CLOSERS}|\?+{CLOSERS}(?=\s+[^\sa-z]|\s*$))")
"""A mark inside a sentence (of a URL, of a quotation) ends no question."""
ANY_MARK: Final = re.compile(rf"([{MARKS}]+{CLOSERS})")

WORDS: Final = (
    "questions?|q|preguntas?|perguntas?|fragen?|domand[ae]|vra(?:ag|gen)"
    "|вопросы?|问题|問題|質問|질문"
)
SUMMARY_WORDS: Final = (
    "summary|r[eé]sum[eé]|resumen|resumo|zusammenfassung|riassunto|samenvatting"
    "|краткое содержание|резюме|摘要|总结|總結|要約|요약"
)
BULLET: Final = re.compile(
    rf"""^(?:
        [\s>\#*_•‣◦·●▪\u2013\u2014-]+               # bullets, headings, bold
      | \(?\d{{1,3}}[.)\]:]\)?(?=\s|\*|[^\W\d]|$)    # 1.  1)  (1)  1:
      | \d{{1,3}}\s*[\u2013\u2014-]\s                # 1 -
      | [a-z][.)]\s                                 # a)  b.
      | (?:{WORDS})\s*\#?\d{{1,3}}\s*(?:{COLON}|[.)-])?   # Q1:  Question 1.
      | (?:{WORDS})\s*{COLON}                     # Question:
    )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
ANSWER: Final = re.compile(
    rf"^(?:a|answers?|answer key|réponse|antwort)\s*\d*\s*{COLON}", re.IGNORECASE
)
PREAMBLE: Final = re.compile(
    r"^(?:sure|certainly|of course|okay|ok|absolutely|here(?:['\u2019]s| is| are)"
    rf"|below (?:is|are)|the following)\b.*(?:{COLON}|[!.])$",
    re.IGNORECASE,
)
CONSENT: Final = re.compile(
    r"^(?:sure|certainly|of course|okay|ok|absolutely)\s*[,!.]", re.IGNORECASE
)
SUMMARY_LABEL: Final = re.compile(
    rf"^[\s>\#*_-]*(?:\w+\s+)?(?:{SUMMARY_WORDS})\s*[*_]*\s*(?:{COLON}|$)[\s*_]*",
    re.IGNORECASE,
)
QUESTIONS_LABEL: Final = re.compile(
    rf"^[\s>\#*_-]*(?:\d+\s+)?(?:{WORDS})\s*[*_]*\s*(?:{COLON}|$)[\s*_]*$", re.IGNORECASE
)
WORD: Final = re.compile(r"\w+")


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
    return UNSTORABLE.sub("", text)


def lines_in(answer: str) -> list[str]:
    """Return the lines of an answer, without thoughts and fences.

    Args:
        answer: The model's answer.

    Returns:
        Its lines that are not blank, stripped.
    """
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


def unnumbered(line: str) -> str:
    """Return a line without its bullet, its number and its quotes.

    Args:
        line: A line of an answer.

    Returns:
        What is left.
    """
    before = None
    while line != before:
        before = line
        line = BULLET.sub("", line, count=1).strip()
        line = line.strip('"“”«»`').rstrip("*_ ").strip()
    return line


# The prompt's own lines are compared with every answer's.
@lru_cache(maxsize=2048)
def compared(line: str) -> str:
    """Return a line in the form in which lines are compared.

    Args:
        line: A line of a prompt or of an answer.

    Returns:
        The line without case, numbering, spacing and punctuation at its ends.
    """
    words = unnumbered(line).casefold().split()
    return " ".join(words).strip(" .:;,!*_\"'" + MARKS)


def without_introductions(lines: list[str]) -> list[str]:
    """Drop lines that announce others; a sentence that only sounds so is all there is.

    Args:
        lines: Lines of an answer.

    Returns:
        The others.
    """
    lines = [
        line for line in lines if not line.endswith((":", "\uff1a")) and not CONSENT.match(line)
    ]
    return [line for line in lines if not PREAMBLE.match(line)] or lines


def distinct(lines: Iterable[str], echoes: Collection[str], *, least: int = 2) -> list[str]:
    """Return each line once, without those that have no words and those of the prompt.

    Args:
        lines: Lines of an answer.
        echoes: Lines of the prompt, from `lines_of`.
        least: How many letters and digits a line has.

    Returns:
        The lines, in order.
    """
    found: dict[str, str] = {}
    for line in lines:
        key = compared(line)
        if sum(map(str.isalnum, line)) >= least and key not in echoes:
            found.setdefault(key, line)
    return list(found.values())


def unwrapped(answer: str, key: str) -> str:
    """Return the text of an answer that may be JSON.

    Args:
        answer: The model's answer.
        key: Of what is wanted, where the JSON is an object that has it.

    Returns:
        The texts in it, one a line; the answer itself where it is no JSON.
    """
    data = json_of(answer)
    return "\n".join(texts_in(data.get(key) if isinstance(data, dict) else data)) or answer


def texts_in(data: Json) -> list[str]:
    """Return all texts in JSON, line by line.

    Args:
        data: Any JSON.

    Returns:
        The lines.
    """
    if isinstance(data, str):
        return data.splitlines()
    if isinstance(data, dict):
        data = list(data.values())
    return [text for item in data for text in texts_in(item)] if isinstance(data, list) else []


def json_of(answer: str) -> Json:
    """Return the JSON that an answer consists of.

    Args:
        answer: The model's answer.

    Returns:
        Its value, None where it is something else.
    """
    if "{" not in answer and "[" not in answer:
        return None
    lines = lines_in(answer)
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
