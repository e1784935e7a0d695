"""What is usable in a model's answer that is to be a list, or one sentence. Plain functions.

As in `langchain_rag.document_transformers.parsing`, what is left after cleaning may be
nothing, which is for the caller to report.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from langchain_rag.document_transformers._answers import (
    compared,
    distinct,
    lines_in,
    unnumbered,
    unwrapped,
    without_introductions,
)
from langchain_rag.document_transformers.parsing import lines_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["keywords_of", "sentence_of", "statements_of"]

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
