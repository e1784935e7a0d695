"""The models of the demo, and the transformer that goes with an LLM."""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    DocumentTransformers,
    GenerateQuestionsTransformer,
    SummarizeTransformer,
)
from langchain_rag.errors import ConfigurationError
from langchain_rag.local import LocalLLM, WordLlamaEmbeddings

if TYPE_CHECKING:
    from collections.abc import Generator

    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.documents import BaseDocumentTransformer
    from langchain_core.embeddings import Embeddings

__all__ = [
    "LLM_CALLS_PER_CHUNK",
    "LOCAL_EMBEDDINGS",
    "LOCAL_LLM",
    "NO_LLM",
    "embeddings_named",
    "local_llm",
    "remote_llm",
    "transformer_with",
    "without_tracing",
]

LOCAL_EMBEDDINGS: Final = "wordllama"
LOCAL_LLM: Final = "SmolLM2-135M"
NO_LLM: Final = "none"
LLM_CALLS_PER_CHUNK: Final = 2
QUESTIONS_GRAMMAR: Final = """\
root ::= question "\\n" question "\\n" question
question ::= ("What" | "How" | "Why" | "Who" | "When" | "Which") " " [^?\\n]{10,110} "?"
"""
"""A model of 135 million parameters forgets that it was asked for questions. llama.cpp can
hold it to the form; what the questions say is still the model's."""
SUMMARY_PROMPT: Final = "{context}\n\nSummarize the text above in one sentence."

Model: TypeAlias = BaseChatModel | Runnable[Any, Any]


def embeddings_named(name: str | None) -> Embeddings:
    """Return embeddings.

    Args:
        name: What LangChain's `init_embeddings` takes, or None for those that run here.

    Returns:
        The embeddings.

    Raises:
        ConfigurationError: They cannot be had.
    """
    if name is None:
        return WordLlamaEmbeddings()
    made: Embeddings = _initialised("langchain.embeddings", "init_embeddings", name)
    return made


def remote_llm(name: str) -> BaseChatModel:
    """Return a chat model.

    Args:
        name: What LangChain's `init_chat_model` takes.

    Returns:
        The model.

    Raises:
        ConfigurationError: It cannot be had.
    """
    made: BaseChatModel = _initialised("langchain.chat_models", "init_chat_model", name)
    return made


def local_llm() -> LocalLLM:
    """Return the LLM that runs here, not started yet.

    Returns:
        The LLM.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        return LocalLLM(max_tokens=100, n_ctx=1024)
    except ConfigurationError as error:
        msg = f"{error} Or run the demo without an LLM: --no-llm."
        raise ConfigurationError(msg) from error


def transformer_with(
    llm: Model | None, calls: BaseCallbackHandler, *, local: bool
) -> BaseDocumentTransformer:
    """Return what makes the variations of a chunk.

    Args:
        llm: A model, or None.
        calls: Told of each call of the model.
        local: Whether it is the one that runs here.

    Returns:
        Questions, a summary and a copy; smaller pieces and a copy if there is no model.
    """
    if llm is None:
        pieces = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=0)
        return DocumentTransformers([pieces, CopyDocumentTransformer()])
    counted = llm.with_config(callbacks=[calls])
    if not local:
        questions = GenerateQuestionsTransformer.from_llm(counted)
        return questions + SummarizeTransformer.from_llm(counted) + CopyDocumentTransformer()
    # Both prompts begin with the chunk, which is most of the work: the server keeps what it
    # read for the first, and goes on from there for the second.
    held = counted.bind(extra_body={"grammar": QUESTIONS_GRAMMAR, "repeat_penalty": 1.1})
    brief = counted.bind(extra_body={"repeat_penalty": 1.1})
    return (
        GenerateQuestionsTransformer.from_llm(held, nb_of_questions=3)
        + SummarizeTransformer.from_llm(brief, SUMMARY_PROMPT)
        + CopyDocumentTransformer()
    )


@contextmanager
def without_tracing() -> Generator[None]:
    """Send no traces to LangSmith, whatever the environment says.

    Yields:
        Nothing.
    """
    names = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "false"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _initialised(module: str, function: str, name: str) -> Any:
    make = getattr(importlib.import_module(module), function)
    try:
        return make(name)
    except Exception as error:
        # Each provider fails in its own way: an unknown name, a package or a key that is
        # missing. What they have to say fits a line.
        what = " ".join(str(error).split())
        msg = f"{name!r} cannot be used ({type(error).__name__}): {what}"
        raise ConfigurationError(msg) from error
