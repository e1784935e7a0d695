# ruff: noqa: RUF001 - the full stops of many scripts are meant

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_rag import errors
from langchain_rag._reserved import KIND, TRANSFORMER
from langchain_rag.document_transformers.fingerprint import fingerprint_of
from langchain_rag.document_transformers.splitters.sentences import (
    SentenceSplitter,
    sentence_spans,
)

# Sentences are parted by the bar, which stands for a blank; none is in a text itself.
ONE_LINE = [
    "Hello World.|My name is Jonas.",
    "What is your name?|My name is Jonas.",
    "There it is!|I found it.",
    "My name is Jonas E. Smith.",
    "Please turn to p. 55.",
    "Were Jane and co. at the party?",
    "They closed the deal with Pitt, Briggs & Co. at noon.",
    "Let's ask Jane and Co.|They should know.",
    "They closed the deal with Pitt, Briggs & Co.|It closed yesterday.",
    "I can see Mt. Fuji from here.",
    "St. Michael's Church is on 5th st. near the light.",
    "That is JFK Jr.'s book.",
    "I visited the U.S.A. last year.",
    "I live in the E.U.|How about you?",
    "I live in the U.S.|How about you?",
    "I work for the U.S. Government in Virginia.",
    "I have lived in the U.S. for 20 years.",
    "She has $100.00 in her bag.",
    "She has $100.00.|It is in her bag.",
    "He teaches science (He previously worked for 5 years as an engineer.) at the University.",
    "Her email is Jane.Doe@example.com.|I sent her an email.",
    "The site is: https://www.example.50.com/new-site/awesome.html.|Please check it out.",
    "She turned to him, 'This is great.' she said.",
    'She turned to him, "This is great." she said.',
    'She turned to him, "This is great."|She held the book out to show him.',
    "Hello!!|Long time no see.",
    "Hello?!|Is that you?",
    "1.) The first item.|The second.",
    "It is 100%.|Nothing is left.",
    "We make a good team, you and I.|Did you see Albert I. Jones yesterday?",
    "Thoreau argues that by simplifying one's life, the laws appear less complex. . . .",
    "I never meant that....|She left the store.",
    "One further habit which was somewhat weakened . . . was that of combining words.",
    "Pi is 3.14159, e is 2.71828.|Both are irrational.",
    "It grew 5% p.a. in 2021, i.e. a lot, cf. Fig. 3 and Tab. 4.",
    "The answer is no.|He left. . .",
    "See No. 5 and nos. 6-8 of vol. 2.",
    "J. R. R. Tolkien wrote it, et al. (2020) quote it.",
    "Prof. Dr. Noether, Mrs. Hopper and Gen. Lee met at 5 p.m. Monday.",
    "Is it?|yes, it is!|fine",
    "Proved in 1915.[12][3]|Published later.[4]",
    "This is **bold.**|This is _not._",
    "¿Qué hora es?|¡Ya es tarde!|Son las tres.",
    "Das gilt z.B. hier, d.h. immer, vgl. Abb. 3.|Mehr nicht.",
    "all is small here.|so e.g. are names, and the u.s. army.|fine.",
    "v1.2.3 is out; use a.b.c() or x.y.",
    "IV. Results are given below.|A. Background comes first.",
]
BLOCKS = [
    ("# Title\nText that is\nwrapped. More.", ["# Title", "Text that is\nwrapped.", "More."]),
    ("Title\n=====\nText", ["Title\n=====", "Text"]),
    ("One\n\n\nTwo. Three", ["One", "Two.", "Three"]),
    ("One\r\n\r\nTwo\r\nstill", ["One", "Two\r\nstill"]),
    ("List:\n- one\n  goes on\n* two\n1. three\n2) four", None),
    ("a | b\n1 | 2\n3 | 4", ["a | b", "1 | 2", "3 | 4"]),
    ("|a|b|\n|-|-|\n|1|2|\nafter", ["|a|b|", "|-|-|", "|1|2|", "after"]),
    ("== Wiki ==\nText", ["== Wiki ==", "Text"]),
    (f"{'long ' * 30}\nNext", [("long " * 30).strip(), "Next"]),
    (
        "我喜欢猫。你呢？是的！“好的。”，他说。",
        ["我喜欢猫。", "你呢？", "是的！", "“好的。”，他说。"],
    ),
    ("「はい。」そう。次", ["「はい。」", "そう。", "次"]),
    ("यह है। वह नहीं।", ["यह है।", "वह नहीं।"]),
    ("", []),
    (" \n\t ", []),
    ("...", ["..."]),
]


def texts_of(text, **options):
    return [text[start:end] for start, end in sentence_spans(text, **options)]


@pytest.mark.parametrize("line", ONE_LINE)
def test_sentences_of_a_line(line):
    assert texts_of(line.replace("|", " ")) == line.split("|")


@pytest.mark.parametrize(("text", "expected"), BLOCKS, ids=lambda value: repr(value)[:30])
def test_sentences_of_lines(text, expected):
    if expected is None:
        expected = ["List:", "- one\n  goes on", "* two", "1. three", "2) four"]
    assert texts_of(text) == expected


PIECES = [*'a.!?…。”")( \n\t\u2028\u3000🙂\ud800', "\r\n", "e\u0301", "Dr", "No", "U.S", "Word"]
PIECES += ["- ", "# ", "1. ", " | ", "12", "3.5"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60)


def blank(text, spans):
    """What is in no span."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True))


@given(TEXTS, st.integers(0, 30))
def test_spans_cover_all_text_in_order(text, least):
    spans = sentence_spans(text, min_characters=least)
    assert not blank(text, spans).strip()
    assert all(before <= start for (_, before), (start, _) in pairwise(spans))
    parts = [text[start:end] for start, end in spans]
    assert all(part and part == part.strip() for part in parts)
    assert len(parts) < 2 or min(map(len, parts)) >= least


@given(TEXTS)
def test_sentences_do_not_depend_on_what_was_joined(text):
    # Each joined one consists of whole sentences.
    single, joined = sentence_spans(text), sentence_spans(text, min_characters=12)
    assert {start for start, _ in joined} <= {start for start, _ in single}
    assert {end for _, end in joined} <= {end for _, end in single}


@given(st.lists(st.sampled_from(["It holds.", "Is it?", "Oh!", "Yes, Dr. Who."]), max_size=9))
def test_plain_sentences_are_found_again(sentences):
    assert texts_of(" ".join(sentences)) == sentences
    assert texts_of("\n\n".join(sentences)) == sentences


def test_short_sentences_are_joined():
    text = "Oh. No! That is a long sentence. So it is. Yes."
    assert texts_of(text, min_characters=7) == [
        "Oh. No!",
        "That is a long sentence.",
        "So it is. Yes.",
    ]
    assert texts_of("Oh. No!", min_characters=100) == ["Oh. No!"]


@pytest.mark.parametrize(
    "part",
    [".", "\n", "Dr. ", "! x", " ", "|", "- ", "a.b.", "x ", "1", "。", "a. ", "?” "],
    ids=repr,
)
def test_time_is_linear(part):
    text = part * (90_000 // len(part)) + "x"
    begun = time.process_time()
    sentence_spans(text)
    assert time.process_time() - begun < 5  # quadratic would be minutes


def by_bars(text):
    return [part for part in re.split(r"(?<=\|)", text) if part]


def spans_by_bars(text):
    return [(found.start(), found.end()) for found in re.finditer(r"[^|]+", text)]


def test_other_segmentations_take_part():
    text = "  one |two|  | three"
    assert texts_of(text, split=by_bars) == ["one |", "two|", "|", "three"]
    assert texts_of(text, split=spans_by_bars) == ["one |", "two|  |", "three"]
    assert texts_of("rest", split=lambda text: []) == ["rest"]
    assert texts_of("a b a b", split=lambda text: ["b", "b"]) == ["a b a", "b"]


def test_text_in_front_belongs_to_the_first_sentence():
    assert texts_of("x y z", split=lambda text: [(2, 3), (4, 5)]) == ["x y", "z"]


@pytest.mark.parametrize(
    "parts", [["c"], ["b", "a"], [(1, 3), (2, 3)], [(-1, 2)], [(0, 9)], [(2, 1)]], ids=repr
)
def test_what_is_not_in_the_text_is_refused(parts):
    with pytest.raises(errors.TransformerError, match=r"split= gave .* in order"):
        sentence_spans("a b", split=lambda text: parts)


def test_each_sentence_is_a_variation(transform):
    given = [
        Document("Oh. Is it? It is.", metadata={"source": "a", "start_index": 40}),
        Document(" \n"),
        Document("Other.", id="7", metadata={"nested": {"list": [1]}}),
    ]
    made = transform(SentenceSplitter(min_characters=4), given)
    common = {TRANSFORMER: "SentenceSplitter", KIND: "sentence"}
    assert [(one.page_content, one.metadata) for one in made] == [
        ("Oh. Is it?", {"source": "a", "start_index": 0, **common}),
        ("It is.", {"source": "a", "start_index": 11, **common}),
        ("Other.", {"nested": {"list": [1]}, "start_index": 0, **common}),
    ]
    assert made[2].metadata["nested"] is not given[2].metadata["nested"]
    assert given[0].metadata == {"source": "a", "start_index": 40}


@given(TEXTS)
def test_offsets_lead_back_to_the_sentence(text):
    splitter = SentenceSplitter(min_characters=5)
    made = splitter.transform_documents([Document(text)])
    spans = [
        (start := one.metadata["start_index"], start + len(one.page_content)) for one in made
    ]
    assert [text[start:end] for start, end in spans] == [one.page_content for one in made]
    assert spans == splitter.spans(text) == sentence_spans(text, min_characters=5)


class Mine(SentenceSplitter):
    pass


def test_fingerprint():
    same = fingerprint_of(SentenceSplitter(min_characters=3))
    assert same == fingerprint_of(SentenceSplitter(min_characters=3))
    named = SentenceSplitter(split=by_bars)
    vouched = SentenceSplitter(split=lambda text: [text], version="1")
    found = [same, SentenceSplitter().fingerprint, named.fingerprint, vouched.fingerprint]
    found += [SentenceSplitter(split=spans_by_bars).fingerprint, Mine(version="1").fingerprint]
    assert None not in found
    assert len(set(found)) == len(found)
    assert SentenceSplitter(split=lambda text: [text]).fingerprint is None
    assert Mine().fingerprint is None


def test_metadata_is_not_read():
    assert SentenceSplitter().reads_metadata is False
    assert Mine().reads_metadata is True


def test_a_negative_length_is_refused():
    with pytest.raises(errors.ConfigurationError, match="min_characters is -1"):
        SentenceSplitter(min_characters=-1)
