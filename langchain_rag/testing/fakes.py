"""Models that need no network, answer the same every time, and count what they are asked.

Example:
    >>> from langchain_rag.testing import CountingEmbeddings, ScriptedChatModel
    >>> embeddings = CountingEmbeddings()
    >>> vectors = embeddings.embed_documents(["prime numbers", "numbers"])
    >>> embeddings.documents, embeddings.queries
    (['prime numbers', 'numbers'], [])
    >>> model = ScriptedChatModel(answer=lambda prompt: prompt.upper())
    >>> model.invoke("hello").text, model.calls
    ('HELLO', 1)
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr
from typing_extensions import override

from langchain_rag._identity import declared_name
from langchain_rag.testing.faults import InjectedFault

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )

__all__ = ["CountingEmbeddings", "ScriptedChatModel", "ScriptedTransformer"]

_WORD = re.compile(r"\w+")


class CountingEmbeddings(Embeddings):
    """Hashed bags of words, normalised: texts that share words have near vectors.

    Attributes:
        size: How many dimensions.
        documents: Every text that was embedded as a document, in order.
        queries: Every text that was embedded as a query, in order.
        batches: How many calls of `embed_documents` and its twin there were.
    """

    def __init__(self, size: int = 64) -> None:
        self.size = size
        self.documents: list[str] = []
        self.queries: list[str] = []
        self.batches = 0

    def reset(self) -> None:
        """Set every count back to nothing."""
        self.documents.clear()
        self.queries.clear()
        self.batches = 0

    def vector(self, text: str) -> list[float]:
        """Embed a text without counting it.

        Args:
            text: Any text, blank ones too.

        Returns:
            A vector of length 1, without negative components.
        """
        return list(_bag_of_words(text, self.size))

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches += 1
        self.documents.extend(texts)
        return [self.vector(text) for text in texts]

    @override
    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return self.vector(text)

    @override
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    @override
    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


@declared_name("ScriptedChatModel")
class ScriptedChatModel(BaseChatModel):
    """A chat model whose answer is a function of the prompt.

    Attributes:
        answer: Makes the answer from the text of all messages of the prompt.
        fail_when: Prompts for which it returns true raise `InjectedFault` instead.
        delay: Seconds that each answer takes, so that concurrent calls overlap.
        model: What the model is called; part of its identity.
    """

    answer: Callable[[str], str]
    fail_when: Callable[[str], bool] | None = None
    delay: float = 0.0
    model: str = "scripted"

    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _prompts: list[str] = PrivateAttr(default_factory=list[str])
    _in_flight: int = PrivateAttr(default=0)
    _peak: int = PrivateAttr(default=0)

    @property
    def prompts(self) -> list[str]:
        """Every prompt so far, in the order in which the calls began."""
        return self._prompts

    @property
    def calls(self) -> int:
        """How many calls there were, the failed ones included."""
        return len(self._prompts)

    @property
    def peak(self) -> int:
        """How many calls ran at the same time, at most."""
        return self._peak

    def reset(self) -> None:
        """Set every count back to nothing."""
        self._prompts.clear()
        self._peak = 0

    @property
    @override
    def _llm_type(self) -> str:
        return "scripted"

    @property
    @override
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    @contextmanager
    def _flight(self, prompt: str) -> Generator[None]:
        with self._lock:
            self._prompts.append(prompt)
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def _result(self, prompt: str) -> ChatResult:
        if self.fail_when is not None and self.fail_when(prompt):
            msg = f"the model was told to fail for: {prompt[:80]!r}"
            raise InjectedFault(msg)
        message = AIMessage(self.answer(prompt))
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = _text(messages)
        with self._flight(prompt):
            if self.delay:
                time.sleep(self.delay)
            return self._result(prompt)

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = _text(messages)
        with self._flight(prompt):
            # Even without a delay, so that calls which may overlap do.
            await asyncio.sleep(self.delay)
            return self._result(prompt)


class ScriptedTransformer(BaseDocumentTransformer):
    """A document transformer made of a function from a text to texts.

    Outputs carry their input's metadata, as LangChain's splitters do.

    Attributes:
        split: Makes the texts of the outputs from the text of one input.
        fail_when: Texts for which it returns true raise `InjectedFault` instead.
        seen: Every text that was transformed, in order.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_rag.testing import ScriptedTransformer
        >>> halves = ScriptedTransformer(lambda text: text.split(". "))
        >>> [piece.page_content for piece in halves.transform_documents([Document("a. b")])]
        ['a', 'b']
    """

    def __init__(
        self,
        split: Callable[[str], Sequence[str]],
        fail_when: Callable[[str], bool] | None = None,
    ) -> None:
        self.split = split
        self.fail_when = fail_when
        self.seen: list[str] = []

    @override
    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        outputs: list[Document] = []
        for document in documents:
            text = document.page_content
            self.seen.append(text)
            if self.fail_when is not None and self.fail_when(text):
                msg = f"the transformer was told to fail for: {text[:80]!r}"
                raise InjectedFault(msg)
            outputs.extend(
                Document(piece, metadata=dict(document.metadata)) for piece in self.split(text)
            )
        return outputs

    @override
    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        return self.transform_documents(documents, **kwargs)


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages)


@lru_cache(maxsize=4096)  # tests embed the same few texts again and again
def _bag_of_words(text: str, size: int) -> tuple[float, ...]:
    # A constant component, so that a text without words is not the zero vector,
    # whose cosine is undefined.
    vector = [0.1] + [0.0] * (size - 1)
    for word in _WORD.findall(text.lower()):
        data = word.encode("utf-8", "replace")
        digest = blake2b(data, digest_size=8).digest()
        vector[1 + int.from_bytes(digest, "big") % (size - 1)] += 1.0
    length = math.hypot(*vector)
    return tuple(component / length for component in vector)
