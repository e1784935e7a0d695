"""What words become."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.errors import ConfigurationError
from langchain_rag.lexical import Analysis
from langchain_rag.lexical.analysis import MAX_TERM


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("english", "The RUNNERS' shoes were not running", ["runner", "shoe", "run"]),
        ("english", "foo_bar-baz v2.10", ["foo", "bar", "baz", "v2", "10"]),
        ("english", "What's the women\u2019s team?", ["women", "team"]),
        ("english", "don't won't they'll", []),
        ("english", "information value years state", ["inform", "valu", "year", "state"]),
        ("english", "\ufb01le \uff26\uff35\uff2c\uff2c", ["file", "full"]),
        ("english", "naïve Café", ["naïv", "café"]),
        ("english", "nai\u0308ve", ["naïv"]),
        ("simple", "The runners don't", ["the", "runners", "don"]),
        ("german", "Die Häuser der Straße", ["haus", "strass"]),
        ("french", "L\u2019eau de l'homme", ["eau", "homm"]),
        ("english", "日本語 text 字", ["日本", "本語", "text", "字"]),
        ("english", "한국어", ["한국", "국어"]),
        ("hindi", "हिन्दी", ["हिन्द"]),
        ("english", 'NEAR(a b) "x" * - AND OR \x00 \ud800 \U0001f600', ["near", "b", "x"]),
        ("english", "", []),
    ],
)
def test_terms(language, text, terms):
    assert Analysis(language).terms(text) == terms


def test_a_language_without_a_stemmer_is_refused_with_those_that_have_one():
    with pytest.raises(ConfigurationError, match=r"'klingon'.*english.*german.*'simple'"):
        Analysis("klingon")


def test_what_is_longer_than_a_word_is_cut():
    assert Analysis("english").terms("x" * 5000) == ["x" * MAX_TERM]
    assert len(Analysis("simple").terms("語" * 300)) == 299


def test_what_was_met_is_forgotten_when_it_is_too_much(monkeypatch):
    monkeypatch.setattr("langchain_rag.lexical.analysis._REMEMBERED", 10)
    analysis = Analysis("simple")
    for n in range(50):
        assert analysis.terms(f"number{n}") == [f"number{n}"]
    assert len(analysis._words) <= 11


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_terms_that_no_database_takes_for_syntax(text):
    for language in ("english", "simple"):
        for term in Analysis(language).terms(text):
            assert 0 < len(term) <= MAX_TERM
            assert not set(term) & set(" '\"\\·\0()*^-:&|!<>")
            term.encode()


@given(st.text(max_size=40))
def test_what_is_asked_as_it_is_written_is_found(text):
    analysis = Analysis("english")
    assert analysis.terms(f"alpha {text} omega")[1:-1] == analysis.terms(text)


def test_threads_get_the_same_stems():
    words = [f"running{n}s connections{n}" for n in range(300)]
    expected = [Analysis("english").terms(word) for word in words]
    found = {}

    def work(name):
        found[name] = [Analysis("english").terms(word) for word in words]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4
