"""The public release of langchain-rag, measured in an environment of its own.

`run` starts this file as a script there, so it imports nothing of this package.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

VERSION = "1.2.0"
_NEEDS = (f"langchain-rag=={VERSION}", "langchain-chroma", "langchain-openai", "wordllama")


def save(path: str, texts: list[str]) -> None:
    """Write texts where the script reads them."""
    Path(path).write_text(json.dumps(texts), "utf-8")


def run(side: str, **options: Any) -> dict[str, Any]:
    """Call one side in an environment that has the public release.

    Args:
        side: Key of `SIDES`.
        **options: JSON values, for the function.

    Raises:
        RuntimeError: It failed, or uv is not there.
    """
    uv = shutil.which("uv")
    if uv is None:
        message = "uv is not there to make an environment for it."
        raise RuntimeError(message)
    command = [uv, "run", "--quiet", "--isolated", "--no-project"]
    for need in _NEEDS:
        command += ["--with", need]
    command += ["python", "-W", "ignore", __file__, side, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def imported(texts: str, port: int, mode: str) -> dict[str, Any]:
    """Import with questions, summary and copy, as `concurrency.ours` does."""
    core = import_module("langchain_core.vectorstores")
    embeddings = import_module("langchain_core.embeddings").DeterministicFakeEmbedding(size=64)
    document = import_module("langchain_core.documents").Document
    llm = import_module("langchain_openai").ChatOpenAI(
        model="slow", base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0
    )
    llm.invoke("warm up")
    release = import_module("langchain_rag.document_transformers")
    rag = import_module("langchain_rag.vectorstores").RAGVectorStore(
        vectorstore=core.InMemoryVectorStore(embeddings),
        docstore=import_module("langchain_core.stores").InMemoryStore(),
        chunk_transformer=_all_of(release, llm),
    )
    listed = json.loads(Path(texts).read_text("utf-8"))
    given = [document(text, metadata={"source": str(n)}) for n, text in enumerate(listed)]
    wall, cpu = time.perf_counter(), time.process_time()
    if mode == "sync":
        rag.add_documents(given)
    else:
        asyncio.run(rag.aadd_documents(given))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    from urllib.request import urlopen  # noqa: PLC0415 - beside the others in a script

    with urlopen(f"http://127.0.0.1:{port}/") as answer:
        return {"wall": wall, "cpu": cpu, **json.load(answer)}


def edited(texts: str) -> dict[str, Any]:
    """Index a document, change one paragraph, and index it again, as `edit.ours` does."""
    document = import_module("langchain_core.documents").Document
    index = import_module("langchain_core.indexing").index
    splitter = import_module("langchain_text_splitters").CharacterTextSplitter(
        separator="\n\n", chunk_size=100, chunk_overlap=0
    )
    counts = {"calls": 0, "embedded": 0, "written": 0, "deleted": 0}
    embeddings, llm = _counting(counts)
    store = import_module("langchain_core.vectorstores").InMemoryVectorStore(embeddings)
    add, delete = store.add_documents, store.delete

    def adding(documents: list[Any], **kwargs: Any) -> Any:
        documents = list(documents)
        counts["written"] += len(documents)
        return add(documents, **kwargs)

    def deleting(ids: Any = None, **kwargs: Any) -> Any:
        counts["deleted"] += len(ids or [])
        return delete(ids, **kwargs)

    store.add_documents, store.delete = adding, deleting
    rag, arguments = import_module(
        "langchain_rag.vectorstores"
    ).RAGVectorStore.from_vs_in_memory(
        store,
        parent_transformer=splitter,
        chunk_transformer=_all_of(import_module("langchain_rag.document_transformers"), llm),
    )
    del rag
    found = {}
    versions = json.loads(Path(texts).read_text("utf-8"))
    for name, text in zip(("first", "edit"), versions, strict=True):
        given = [document(text, metadata={"source": "book"})]
        index(given, cleanup="incremental", **arguments)
        found[name] = dict(counts)
        counts.update(dict.fromkeys(counts, 0))
    return found


def _counting(counts: dict[str, int]) -> tuple[Any, Any]:
    fake = import_module("langchain_core.embeddings").DeterministicFakeEmbedding
    models = import_module("langchain_core.language_models.fake_chat_models")

    class Embeddings(fake):  # type: ignore[misc, valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            counts["embedded"] += len(texts)
            found: list[list[float]] = super().embed_documents(texts)
            return found

    class Model(models.GenericFakeChatModel):  # type: ignore[misc, name-defined]
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            counts["calls"] += 1
            return super()._generate(*args, **kwargs)

    answer = "1. What is it?\n2. Who was it?\n3. When was it?"
    messages = iter(lambda: answer, None)
    return Embeddings(size=64), Model(messages=messages)


def _all_of(release: Any, llm: Any) -> Any:
    return release.DocumentTransformers(
        transformers=[
            release.GenerateQuestionsTransformer.from_llm(llm),
            release.SummarizeTransformer.from_llm(llm),
            release.CopyDocumentTransformer(),
        ]
    )


SIDES: dict[str, Callable[..., dict[str, Any]]] = {"imported": imported, "edited": edited}


if __name__ == "__main__":
    print("\n" + json.dumps(SIDES[sys.argv[1]](**json.loads(sys.argv[2]))))
