"""LlamaIndex's `IngestionPipeline`, with the same models and the same texts.

Its LLM is a small class around the `openai` client that is here: LlamaIndex's own wants an
older one. Its stores are those that come with it, which keep everything in memory and write it
to JSON files when told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.extractors import QuestionsAnsweredExtractor, SummaryExtractor
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.llms import CustomLLM
from llama_index.core.node_parser import LangchainNodeParser
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.schema import TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from pydantic import PrivateAttr

from benchmarks._counting import answer, paragraphs
from benchmarks._process import Side, clock
from benchmarks._server import seen
from benchmarks._stores import CountingEmbeddings
from benchmarks._texts import documents, edited_document, passages


class SlowLLM(CustomLLM):  # type: ignore[misc] # no types without the group
    """Asks the local server."""

    port: int
    _client: Any = PrivateAttr(default=None)
    _aclient: Any = PrivateAttr(default=None)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="slow")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        del formatted
        if self._client is None:
            self._client = openai.OpenAI(**self._options())
        answer = self._client.chat.completions.create(**self._request(prompt))
        return CompletionResponse(text=answer.choices[0].message.content)

    async def acomplete(
        self, prompt: str, formatted: bool = False, **_: Any
    ) -> CompletionResponse:
        del formatted
        if self._aclient is None:
            self._aclient = openai.AsyncOpenAI(**self._options())
        answer = await self._aclient.chat.completions.create(**self._request(prompt))
        return CompletionResponse(text=answer.choices[0].message.content)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        return {
            "base_url": f"http://127.0.0.1:{self.port}/v1",
            "api_key": "none",
            "max_retries": 0,
        }

    def _request(self, prompt: str) -> dict[str, Any]:
        return {"model": "slow", "messages": [{"role": "user", "content": prompt}]}


def imported(port: int, concurrency: int, mode: str, data: str, count: int) -> dict[str, Any]:
    """Questions and summary of each passage."""
    del mode  # its synchronous `run` asks asynchronously anyhow
    llm = SlowLLM(port=port)
    llm.complete("warm up")
    pipeline = IngestionPipeline(
        transformations=[
            QuestionsAnsweredExtractor(
                questions=3, llm=llm, num_workers=concurrency, show_progress=False
            ),
            SummaryExtractor(
                summaries=["self"], llm=llm, num_workers=concurrency, show_progress=False
            ),
        ],
        disable_cache=True,
    )
    nodes = [TextNode(text=text) for text in passages(data, count)]
    with clock() as took:
        pipeline.run(nodes=nodes)
    return {"wall": took.wall, "cpu": took.cpu, **seen(port)}


class ScriptedLLM(CustomLLM):  # type: ignore[misc] # no types without the group
    """Answers without a network, and counts."""

    calls: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        del formatted
        self.calls += 1
        return CompletionResponse(text=answer(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


class Embedding(BaseEmbedding):  # type: ignore[misc] # no types without the group
    """The embeddings of the other sides."""

    _model: CountingEmbeddings = PrivateAttr(default_factory=CountingEmbeddings)

    @property
    def counted(self) -> CountingEmbeddings:
        return self._model

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.embed_documents(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._model.embed_documents([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._model.embed_query(query)


class Pipeline:
    """A pipeline with docstore, cache and vector store, and its counts."""

    def __init__(self) -> None:
        self.llm, self.embedding = ScriptedLLM(), Embedding(model_name="wordllama")
        self.pipeline = IngestionPipeline(
            transformations=[
                LangchainNodeParser(paragraphs()),
                QuestionsAnsweredExtractor(questions=3, llm=self.llm, show_progress=False),
                SummaryExtractor(summaries=["self"], llm=self.llm, show_progress=False),
                self.embedding,
            ],
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS,
            cache=IngestionCache(),
        )

    def run(self, given: list[LlamaDocument], there: Path | None = None) -> dict[str, Any]:
        """Run it, and say what that took."""
        self.llm.calls = self.embedding.counted.embedded = 0
        with clock() as took:
            if there:
                self.pipeline.load(str(there))
            nodes = self.pipeline.run(documents=given)
        # It has no vector store of its own here, so that what it would write is counted.
        return {
            **took.figures(),
            "calls": self.llm.calls,
            "embedded": self.embedding.counted.embedded,
            "written": len(nodes),
        }


def again(folder: str, data: str, count: int) -> dict[str, Any]:
    """Index what is there already.

    Reading its files counts: the other sides read theirs as they need them.
    """
    pipeline = Pipeline()
    there = Path(folder) / "pipeline"
    given = [
        LlamaDocument(text=one.page_content, doc_id=str(one.id), metadata=one.metadata)
        for one in documents(data, count)
    ]
    if there.exists():
        return pipeline.run(given, there)
    figures = pipeline.run(given)
    pipeline.pipeline.persist(str(there))
    return figures


def edited(data: str, chunks: int) -> dict[str, Any]:
    """Index a document, change one paragraph, and index it again."""
    pipeline = Pipeline()
    first, second = (
        LlamaDocument(text=edited_document(data, chunks, change), doc_id="edited")
        for change in (False, True)
    )
    return {"first": pipeline.run([first]), "edit": pipeline.run([second])}


SIDES: dict[str, Side] = {"imported": imported, "llama": again, "edited": edited}
