"""What models put around what they were asked for, as regular expressions."""

from __future__ import annotations

import re
from typing import Final

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
