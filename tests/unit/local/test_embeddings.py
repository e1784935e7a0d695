import logging
import math
import sys

import pytest

from langchain_rag.errors import ConfigurationError
from langchain_rag.local import WordLlamaEmbeddings


@pytest.fixture(scope="module")
def embeddings() -> WordLlamaEmbeddings:
    return WordLlamaEmbeddings()


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_vectors_have_256_floats_and_length_1(embeddings: WordLlamaEmbeddings) -> None:
    vectors = embeddings.embed_documents(["prime numbers", "a", "Ein Satz über Mengen. " * 400])

    assert [len(vector) for vector in vectors] == [256] * 3
    assert all(type(number) is float for vector in vectors for number in vector)
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1.0] * 3)


def test_a_query_is_embedded_as_a_document_is(embeddings: WordLlamaEmbeddings) -> None:
    alone = embeddings.embed_query("prime numbers")
    among = embeddings.embed_documents(["something longer than that", "prime numbers"])[1]

    assert alone == pytest.approx(among, abs=1e-6)


def test_what_is_alike_is_near(embeddings: WordLlamaEmbeddings) -> None:
    query = embeddings.embed_query("Which numbers are prime?")
    primes, bread = embeddings.embed_documents(
        ["A prime number has no divisors but one and itself.", "Knead the dough, let it rise."]
    )

    assert cosine(query, primes) > cosine(query, bread) + 0.2


def test_nothing_to_embed(embeddings: WordLlamaEmbeddings) -> None:
    assert embeddings.embed_documents([]) == []
    assert embeddings.embed_query("") == [0.0] * 256


async def test_async_gives_the_same(embeddings: WordLlamaEmbeddings) -> None:
    assert await embeddings.aembed_documents(["a", "b"]) == embeddings.embed_documents(
        ["a", "b"]
    )
    assert await embeddings.aembed_query("a") == embeddings.embed_query("a")


def test_logging_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package calls `logging.basicConfig` when it is imported.
    for name in [name for name in sys.modules if name.split(".")[0] == "wordllama"]:
        if not name.startswith("wordllama.algorithms"):
            monkeypatch.delitem(sys.modules, name)
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    level = root.level

    WordLlamaEmbeddings()

    assert root.handlers == []
    assert root.level == level


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)

    with pytest.raises(ConfigurationError, match="wordllama") as raised:
        WordLlamaEmbeddings()

    assert 'pip install "langchain-rag[local]"' in str(raised.value)
    assert "\n" not in str(raised.value)
