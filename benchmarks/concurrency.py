"""How busy an import keeps a model that answers after 50 ms.

500 chunks go through questions + summary + copy. The ideal is calls x 50 ms / concurrency, plus
what the wrapped store takes to write the same rows by itself. A client has work of its own with
each call, though, and Python does one piece of it at a time: the floor is the same prompts in
one `batch` (or `abatch`) of the same model, with nothing around it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import tempfile
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks import _release
from benchmarks._lean import LeanChat
from benchmarks._options import Options
from benchmarks._process import Side, clock, in_turn, run_side, table
from benchmarks._server import DELAY, seen, slow_model
from benchmarks._texts import passages
from langchain_rag import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    RAGVectorStore,
    SummarizeTransformer,
)

CONCURRENCY = (1, 16, 64)
ASK = "Write down what the following text is about, in its own language, and nothing else."


def ours(
    port: int, concurrency: int, mode: str, data: str, count: int, model: str
) -> dict[str, Any]:
    """Import through `RAGVectorStore`."""
    llm = _llm(port, model)
    wrapped = InMemoryVectorStore(DeterministicFakeEmbedding(size=64))
    rag = RAGVectorStore(
        vectorstore=wrapped,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=GenerateQuestionsTransformer.from_llm(llm)
        + SummarizeTransformer.from_llm(llm)
        + CopyDocumentTransformer(),
        max_concurrency=concurrency,
    )
    documents = [Document(text) for text in passages(data, count)]
    with clock() as took:
        if mode == "sync":
            rag.add_documents(documents, batch_size=count)
        else:
            asyncio.run(rag.aadd_documents(documents, batch_size=count))
    rows = [
        Document(row["text"], metadata=row["metadata"], id=id_)
        for id_, row in wrapped.store.items()
    ]
    with clock() as write:
        InMemoryVectorStore(DeterministicFakeEmbedding(size=64)).add_documents(
            rows, ids=[str(row.id) for row in rows]
        )
    return {"wall": took.wall, "cpu": took.cpu, "write": write.wall, **seen(port)}


def floor(
    port: int, concurrency: int, mode: str, data: str, count: int, model: str
) -> dict[str, Any]:
    """Send the same prompts to the same model in one batch."""
    llm = _llm(port, model)
    # About as long as ours, and as many: one for the questions and one for the summary.
    texts = list(passages(data, count))
    prompts: list[LanguageModelInput] = [f"{ASK}\n\n{text}" for text in texts + texts]
    with clock() as took:
        if mode == "sync":
            llm.batch(prompts, {"max_concurrency": concurrency})
        else:
            asyncio.run(llm.abatch(prompts, {"max_concurrency": concurrency}))
    return {"wall": took.wall, "cpu": took.cpu, "write": 0.0, **seen(port)}


def _llm(port: int, model: str) -> BaseChatModel:
    llm: BaseChatModel = LeanChat(port=port)
    if model == "ChatOpenAI":
        llm = _openai(port)
    llm.invoke("warm up")
    return llm


def _openai(port: int) -> ChatOpenAI:
    return ChatOpenAI(
        model="slow",
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key=SecretStr("none"),
        max_retries=0,
    )


SIDES: dict[str, Side] = {"ours": ours, "floor": floor}


def report(options: Options) -> None:
    """Print one row for each concurrency, sync and async."""
    count = options.documents or 500
    print(f"## Import of {count} chunks with a model that answers after 50 ms\n")
    rows = [
        _row(options, count, model, concurrency, mode)
        for model in ("ChatOpenAI", "LeanChat")
        for concurrency in CONCURRENCY
        for mode in ("sync", "async")
    ]
    table(
        (
            "model",
            "concurrency",
            "",
            "calls",
            "wall",
            "ideal",
            "wall / ideal",
            "floor",
            "wall / floor",
            "most in flight",
            "CPU",
            "CPU of the floor",
            "CPU of the server",
        ),
        rows,
    )
    _peers(options, count)


def _row(
    options: Options, count: int, model: str, concurrency: int, mode: str
) -> tuple[object, ...]:
    # With one call at a time a turn takes the most time and tells the least.
    turns = min(options.turns, 1 if concurrency == 1 else 3)
    side = partial(_side, __name__, options.data, concurrency, mode, count, model=model)
    found = in_turn(turns, {name: partial(side, name) for name in SIDES})
    calls = found.last("ours")["calls"] - 1
    ideal = calls * DELAY / concurrency + found.median("ours", "write")
    wall = found.median("ours", "wall")
    floors = [
        b["wall"] + a["write"]
        for a, b in zip(found.turns["ours"], found.turns["floor"], strict=True)
    ]
    ratios = [a["wall"] / b for a, b in zip(found.turns["ours"], floors, strict=True)]
    return (
        model,
        concurrency,
        mode,
        calls,
        f"{wall:.2f} s",
        f"{ideal:.2f} s",
        f"{wall / ideal:.2f}",
        f"{statistics.median(floors):.2f} s",
        f"{statistics.median(ratios):.2f}",
        found.last("ours")["most"],
        f"{found.median('ours', 'cpu'):.2f} s",
        f"{found.median('floor', 'cpu'):.2f} s",
        f"{found.median('ours', 'server'):.2f} s",
    )


def _side(
    module: str,
    data: str,
    concurrency: int,
    mode: str,
    count: int,
    side: str,
    turn: int,
    **more: str,
) -> dict[str, Any]:
    del turn
    with slow_model() as port:
        return run_side(
            module,
            side,
            port=port,
            concurrency=concurrency,
            mode=mode,
            data=data,
            count=count,
            **more,
        )


def _peers(options: Options, count: int) -> None:
    """What the others do with a concurrency of 16."""
    rows = []
    for mode in ("sync", "async"):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as texts, slow_model() as port:
            _release.save(texts.name, list(passages(options.data, count)))
            try:
                found = _release.run("imported", texts=texts.name, port=port, mode=mode)
            except RuntimeError as error:
                print(f"The public release could not be measured: {error}")
                continue
        rows.append(_peer_row(f"langchain-rag {_release.VERSION}, {mode}", found))
    if importlib.util.find_spec("llama_index"):
        found = _side("benchmarks._llama", options.data, 16, "sync", count, "imported", 0)
        rows.append(_peer_row("LlamaIndex `IngestionPipeline`, 16 workers", found))
    else:
        print("LlamaIndex is left out: run it with `uv run --group benchmark`.")
    table(("peer", "calls", "wall", "wall / (calls x 50 ms / 16)", "most in flight"), rows)
    print("LangChain's ParentDocumentRetriever asks no model.\n")


def _peer_row(name: str, found: dict[str, Any]) -> tuple[object, ...]:
    calls = found["calls"] - 1
    ideal = calls * DELAY / 16
    return name, calls, f"{found['wall']:.2f} s", f"{found['wall'] / ideal:.2f}", found["most"]
