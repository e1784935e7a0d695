"""The fakes do what the tests that rely on them believe."""

from __future__ import annotations

import math
import threading

import pytest
from langchain_core.documents import Document

from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    InjectedFault,
    ScriptedChatModel,
    ScriptedTransformer,
)


async def test_near_texts_have_near_vectors(driver: Driver) -> None:
    embeddings = CountingEmbeddings()
    near, far, blank = await driver(
        embeddings,
        "embed_documents",
        ["Euler proved the theorem", "a recipe for bread", " \ud800 "],
    )
    query = await driver(embeddings, "embed_query", "the theorem that Euler proved")

    def cosine(left: list[float], right: list[float]) -> float:
        return sum(a * b for a, b in zip(left, right, strict=True))

    assert cosine(query, near) > 0.8 > 0.3 > cosine(query, far)
    for vector in (near, far, blank, query):
        assert len(vector) == 64
        assert math.hypot(*vector) == pytest.approx(1.0)
    assert embeddings.documents[0] == "Euler proved the theorem"
    assert (len(embeddings.documents), len(embeddings.queries), embeddings.batches) == (3, 1, 1)
    embeddings.reset()
    assert (embeddings.documents, embeddings.queries, embeddings.batches) == ([], [], 0)


async def test_a_scripted_model_answers_fails_and_counts(driver: Driver) -> None:
    # Threads wait for each other, however busy the machine is; tasks all begin before one ends.
    meeting = threading.Barrier(3 if driver.name == "sync" else 1)

    def fails(prompt: str) -> bool:
        if prompt in {"x", "bad", "y"}:
            meeting.wait(60)
        return prompt == "bad"

    model = ScriptedChatModel(answer=lambda prompt: prompt[::-1], fail_when=fails, delay=0.01)
    assert (await driver(model, "invoke", "abc")).text == "cba"
    assert model.peak == 1
    answers = await driver(model, "batch", ["x", "bad", "y"], return_exceptions=True)
    assert [answers[0].text, answers[2].text] == ["x", "y"]
    assert isinstance(answers[1], InjectedFault)
    assert model.peak == 3
    assert (model.calls, sorted(model.prompts)) == (4, ["abc", "bad", "x", "y"])
    model.reset()
    assert (model.calls, model.peak) == (0, 0)
    answers = await driver(model, "batch", ["1", "2", "3"], config={"max_concurrency": 1})
    assert (len(answers), model.peak) == (3, 1)


async def test_a_scripted_transformer_keeps_metadata_and_counts(driver: Driver) -> None:
    transformer = ScriptedTransformer(str.split, fail_when=lambda text: text == "bad")
    document = Document("a b", metadata={"n": 1})
    pieces = await driver(transformer, "transform_documents", [document])
    assert pieces == [Document("a", metadata={"n": 1}), Document("b", metadata={"n": 1})]
    pieces[0].metadata["n"] = 2
    assert document.metadata == {"n": 1}
    with pytest.raises(InjectedFault, match="told to fail for: 'bad'"):
        await driver(transformer, "transform_documents", [Document("bad")])
    assert transformer.seen == ["a b", "bad"]
