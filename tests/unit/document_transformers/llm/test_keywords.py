from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_rag._reserved import KIND, TRANSFORMER
from langchain_rag.document_transformers import KeywordsTransformer, reads_metadata
from langchain_rag.document_transformers.llm.parsing import keywords_of
from langchain_rag.errors import ConfigurationError, TransformerError

THREE = ["set theory", "Georg Cantor", "Halle"]


@pytest.mark.parametrize(
    "answer",
    [
        "{}\n{}\n{}",
        "1. {}\n2. {}\n3. {}",
        "- **{}**\n- **{}**\n- **{}**",
        "{}, {}, {}",
        "{}; {}; {}.",
        "Keywords: {}, {}, {}",
        "**Keywords:** {}, {}, {}",
        "Here are the keywords:\n{}\n{}\n{}",
        "Keywords:\n{}\n{}\n{}",
        "Schlüsselwörter: {}, {}, {}",
        "Topics: {}\nNames: {}\nPlaces: {}",
        '["{}", "{}", "{}"]',
        '{{"keywords": ["{}", "{}", "{}"]}}',
        "{}\n{}\n{}\nSET THEORY\n-\n",
        "{}\n{}\n{}\nThe text says nothing about where else he taught at that time.",
        "{}、{}、{}",
    ],
)
def test_keywords_are_found(answer):
    assert keywords_of(answer.format(*THREE), limit=9) == THREE


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Halle, Saale\nJanuary 6, 1918", ["Halle, Saale", "January 6, 1918"]),
        (
            "Names: Cantor, Dedekind, Kronecker\nDates: 1874",
            ["Cantor", "Dedekind", "Kronecker", "1874"],
        ),
        ("Terms of trade", ["Terms of trade"]),
        ("R, C++, C#", ["R", "C++", "C#"]),
        ("虎、水", ["虎", "水"]),
        ("", []),
    ],
)
def test_what_a_line_holds(answer, found):
    assert keywords_of(answer, limit=9) == found


@given(st.text(max_size=400))
def test_any_answer_can_be_read(answer):
    assert len(keywords_of(answer, limit=3)) <= 3


def test_a_hostile_answer_takes_no_time():
    start = time.perf_counter()
    for answer in ("a, " * 50_000, " ," * 50_000, " " * 100_000 + "x", "key " * 50_000):
        keywords_of(answer, limit=9)
    assert time.perf_counter() - start < 5


def test_they_are_one_variation(transform, scripted):
    llm = scripted(lambda prompt: f"1. {prompt.split()[0]}\n2. sets\n3. maths")
    transformer = KeywordsTransformer.from_llm(llm, nb_of_keywords=2)
    made = transform(transformer, [Document("Cantor", metadata={"n": 1}), Document("Halle")])
    assert [one.page_content for one in made] == ["Cantor, sets", "Halle, sets"]
    assert made[0].metadata == {"n": 1, TRANSFORMER: "KeywordsTransformer", KIND: "keywords"}
    assert all("up to 2 keywords:" in prompt for prompt in llm.prompts)


def test_entities(transform, scripted):
    llm = scripted("Names: Georg Cantor\nDates: 1845")
    transformer = KeywordsTransformer.from_llm(llm, entities=True)
    made = transform(transformer, [Document("x")])
    assert [one.page_content for one in made] == ["Georg Cantor, 1845"]
    prompt = llm.prompts[0]
    assert "entities" in prompt
    assert "dates" in prompt
    assert "keywords" not in prompt


def test_nothing_usable_is_an_error(transform, scripted):
    llm = scripted("This is a long sentence that explains why there are no keywords at all")
    with pytest.raises(
        TransformerError, match=r"nothing usable .* document '7', asked 2 times"
    ):
        transform(KeywordsTransformer.from_llm(llm), [Document("x", id="7")])


def test_fingerprint(scripted):
    def one(**options):
        return KeywordsTransformer.from_llm(scripted("x y"), version="1", **options)

    prints = {made.fingerprint for made in (one(), one(nb_of_keywords=3), one(entities=True))}
    assert len(prints) == 3
    assert None not in prints
    assert one().fingerprint == one().fingerprint
    assert not reads_metadata(one())
    with pytest.raises(ConfigurationError, match="nb_of_keywords is 0"):
        one(nb_of_keywords=0)
