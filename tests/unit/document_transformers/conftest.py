"""The forms of every transformer, and models that say what they were asked."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda


def eager(transformer, documents, config=None):
    return transformer.transform_documents(list(documents), config=config)


def eager_async(transformer, documents, config=None):
    return asyncio.run(transformer.atransform_documents(list(documents), config=config))


def lazy(transformer, documents, config=None):
    return list(transformer.lazy_transform_documents(iter(documents), config=config))


def lazy_async(transformer, documents, config=None):
    async def collect():
        found = transformer.alazy_transform_documents(iter(documents), config=config)
        return [document async for document in found]

    return asyncio.run(collect())


def lazy_async_of_async(transformer, documents, config=None):
    async def stream():
        for document in documents:
            yield document

    async def collect():
        found = transformer.alazy_transform_documents(stream(), config=config)
        return [document async for document in found]

    return asyncio.run(collect())


FORMS = [eager, eager_async, lazy, lazy_async, lazy_async_of_async]


@pytest.fixture(params=[eager, lazy_async], ids=lambda form: form.__name__)
def transform(request):
    """Sync at once and async window by window.

    The base and the pipeline make every form of one flow, and are tested in each.
    """
    return request.param


@pytest.fixture(scope="session")
def forms():
    return FORMS


class ScriptedModel(BaseChatModel):
    """Answers by a function of the prompt, and counts the calls in flight."""

    answer: Callable[[str], Any]
    seconds: float = 0.0
    structured: Any = None
    state: Any = None

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        self.state = {"now": 0, "peak": 0, "prompts": [], "lock": threading.Lock()}

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def prompts(self) -> list[str]:
        found: list[str] = self.state["prompts"]
        return found

    @property
    def peak(self) -> int:
        found: int = self.state["peak"]
        return found

    def with_structured_output(self, schema, *, include_raw=False, **kwargs):
        """Answer with what `structured` makes of the prompt, or as LangChain's base."""
        if self.structured is None:
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        assert include_raw
        if isinstance(self.structured, type):
            raise self.structured

        def answer(prompt):
            self.state["structured"] = self.state.get("structured", 0) + 1
            found = self.structured(prompt.to_string())
            if isinstance(found, Exception):
                raise found
            return found

        return RunnableLambda(answer)

    def _enter(self, prompt: str) -> None:
        with self.state["lock"]:
            self.prompts.append(prompt)
            self.state["now"] += 1
            self.state["peak"] = max(self.peak, self.state["now"])

    def _leave(self, prompt: str) -> ChatResult:
        with self.state["lock"]:
            self.state["now"] -= 1
        answer = self.answer(prompt)
        if isinstance(answer, Exception):
            raise answer
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=answer))])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self._enter(messages[0].text)
        time.sleep(self.seconds)
        return self._leave(messages[0].text)

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        self._enter(messages[0].text)
        await asyncio.sleep(self.seconds)
        return self._leave(messages[0].text)


@pytest.fixture
def scripted():
    def make(answer, seconds=0.0, structured=None):
        return ScriptedModel(
            answer=answer if callable(answer) else lambda prompt: answer,
            seconds=seconds,
            structured=structured,
        )

    return make


class Upper(BaseDocumentTransformer):
    """A user's own transformer, which knows nothing of this package."""

    def __init__(self):
        self.seen: list[list[Document]] = []

    def transform_documents(self, documents, **kwargs):
        assert not kwargs
        self.seen.append(list(documents))
        return [
            Document(page_content=one.page_content.upper(), metadata=one.metadata)
            for one in documents
        ]


@pytest.fixture
def upper():
    return Upper()
