"""From text to terms: the same for what is indexed and for what is asked, in every index."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from threading import Lock
from typing import Any, Final

from langchain_rag.errors import ConfigurationError
from langchain_rag.lexical.stop_words import STOP_WORDS

VERSION: Final = 1
"""Of what this module makes of a text; an index of another version is built anew."""

SIMPLE: Final = "simple"
"""Stands for no language: every word counts, as it is written."""

MAX_TERM: Final = 64
"""Characters of a term. What is longer is no word; equal beginnings are equal terms."""

_REMEMBERED: Final = 100_000
"""Words of which the stems are kept."""

# Without apostrophes, which join words in one language and part them in another.
_ASCII: Final = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_LETTERS: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# Chinese, Japanese and Korean, which are written without blanks or are inflected with
# syllables: two characters that stand side by side are a term, as in Lucene's CJK analyser.
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_RUNS: Final = re.compile(f"[{_CJK}]+|[^{_CJK}]+")
_DIGIT: Final = re.compile(r"\d")
_IS_CJK: Final = re.compile(f"[{_CJK}]")


class Analysis:
    """Turns texts of one language into terms.

    Letters lose their case and their forms of compatibility, words that nearly every text has
    are left out, the others are cut to their stems (Porter 1980, and his Snowball for other
    languages). Nothing in a text is syntax: what is neither letter nor digit parts words.

    Args:
        language: A language, such as `"english"`; `"simple"` for none.

    Raises:
        ConfigurationError: There is no stemmer for the language.

    Example:
        >>> Analysis("english").terms("The runners' shoes, and NOT the runner's!")
        ['runner', 'shoe', 'runner']
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._words = _words(language)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in their order.

        Args:
            text: Any text.
        """
        plain = _folded(text)
        if plain.isascii():
            found = _ASCII.findall(plain)
        elif _marks().search(plain):
            found = _marked().findall(plain)
        else:
            found = _LETTERS.findall(plain)
        self._words.keep_small()
        return list(chain.from_iterable(map(self._words.__getitem__, found)))


class _Words(dict[str, tuple[str, ...]]):
    """The terms of each word that was met."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stop_words = _stop_words(language)
        self._stemmer = _stemmer(language)
        self._lock = Lock()  # a stemmer works on what it holds

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms = tuple(self._terms(word))
        if len(word) <= MAX_TERM:
            self[word] = terms
        return terms

    def keep_small(self) -> None:
        if len(self) > _REMEMBERED:
            self.clear()

    def _terms(self, word: str) -> list[str]:
        if word in self._stop_words:
            return []
        if "'" not in word:
            parts = [word]
        else:
            # What an apostrophe leaves of a word (l'eau, men's) is none.
            parts = [part for part in word.split("'") if len(part) > 1]
        terms: list[str] = []
        for part in parts:
            if part not in self._stop_words:
                terms += _bigrams(part) if _IS_CJK.search(part) else [part]
        return [self._stem(term) for term in terms]

    def _stem(self, term: str) -> str:
        cut = term[:MAX_TERM]
        # Numbers and codes have no stem, and are too many to be remembered.
        if self._stemmer is None or _DIGIT.search(cut):
            return cut
        with self._lock:
            return str(self._stemmer.stemWord(cut)) or cut


def _bigrams(word: str) -> list[str]:
    terms: list[str] = []
    for run in _RUNS.findall(word):
        if _IS_CJK.match(run) and len(run) > 1:
            terms += [run[n : n + 2] for n in range(len(run) - 1)]
        else:
            terms.append(run)
    return terms


@lru_cache(maxsize=16)
def _words(language: str) -> _Words:
    return _Words(language)


def _folded(text: str) -> str:
    """Take case, forms of compatibility and kinds of apostrophe from a text."""
    if text.isascii():
        return text.lower()
    folded = _normal(text).casefold()
    # Once more, since folding can undo what normalising did.
    return _normal(folded).replace("\u2019", "'").replace("\u02bc", "'")


def _normal(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):  # nearly all, and faster to see than to do
        return text
    return unicodedata.normalize("NFKC", text)


@cache
def _marks() -> re.Pattern[str]:
    """Marks, which belong to the letter before them, and are no letters to Python's `re`."""
    marks = "".join(
        character
        for character in map(chr, range(0x300, 0x3100))
        if unicodedata.category(character).startswith("M")
    )
    return re.compile(f"[{re.escape(marks)}]")


@cache
def _marked() -> re.Pattern[str]:
    letter = rf"[^\W_]{_marks().pattern}*"
    return re.compile(f"(?:{letter})+(?:'(?:{letter})+)*")


def _stop_words(language: str) -> frozenset[str]:
    listed = STOP_WORDS.get(language, frozenset())
    return frozenset(unicodedata.normalize("NFKC", word).casefold() for word in listed)


def _stemmer(language: str) -> Any:
    if language == SIMPLE:
        return None
    package: Any = import_module("snowballstemmer")
    known: list[str] = package.algorithms()
    if language not in known:
        listed = ", ".join(sorted(known))
        message = (
            f"There is no stemmer for {language!r}. Name one of these languages: {listed}; or "
            f"{SIMPLE!r}, which takes words as they are."
        )
        raise ConfigurationError(message)
    return package.stemmer(language)
