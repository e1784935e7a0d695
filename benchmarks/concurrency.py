"""How busy an import keeps a model: `uv run python -m benchmarks.concurrency`.

A local HTTP server speaks the OpenAI protocol and answers every call after 50 ms. 500 chunks go
through questions + summary + copy, at several concurrencies, sync and async, each in a process
of its own. The ideal is calls x 50 ms / concurrency, plus what the wrapped store takes to write
the same rows by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import urlopen

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from langchain_rag import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    RAGVectorStore,
    SummarizeTransformer,
)

CHUNKS = 500
SECONDS = 0.05


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    now = most = calls = 0

    def do_GET(self) -> None:
        self._send({"most": Model.most, "calls": Model.calls})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with Model.lock:
            Model.now += 1
            Model.calls += 1
            Model.most = max(Model.most, Model.now)
        time.sleep(SECONDS)
        with Model.lock:
            Model.now -= 1
        message = {"role": "assistant", "content": "What is it?\nWho was it?\nWhen was it?"}
        self._send(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "slow",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )

    def _send(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def serve() -> None:
    server = Server(("127.0.0.1", 0), Model)
    print(server.server_port, flush=True)
    server.serve_forever()


def import_once(port: int, concurrency: int, mode: str) -> dict[str, float]:
    llm = ChatOpenAI(
        model="slow",
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key=SecretStr("none"),
        max_retries=0,
    )
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
    texts = [f"Paragraph {n} on a subject of its own." for n in range(CHUNKS)]
    documents = [Document(text) for text in texts]
    llm.invoke("warm up")
    begin = time.perf_counter()
    cpu = time.process_time()
    if mode == "sync":
        rag.add_documents(documents, batch_size=CHUNKS)
    else:
        asyncio.run(rag.aadd_documents(documents, batch_size=CHUNKS))
    wall = time.perf_counter() - begin
    cpu = time.process_time() - cpu
    rows = [
        Document(row["text"], metadata=row["metadata"], id=id_)
        for id_, row in wrapped.store.items()
    ]
    begin = time.perf_counter()
    InMemoryVectorStore(DeterministicFakeEmbedding(size=64)).add_documents(
        rows, ids=[str(row.id) for row in rows]
    )
    write = time.perf_counter() - begin
    with urlopen(f"http://127.0.0.1:{port}/") as answer:
        seen = json.load(answer)
    return {"wall": wall, "write": write, "cpu": cpu, **seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--once", nargs=3, metavar=("PORT", "CONCURRENCY", "MODE"))
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 64])
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    if arguments.once:
        port, concurrency, mode = arguments.once
        print(json.dumps(import_once(int(port), int(concurrency), mode)))
        return
    print("| concurrency | | wall | ideal | wall / ideal | most in flight | CPU |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for concurrency in arguments.concurrency:
        for mode in ("sync", "async"):
            report(concurrency, mode)


def report(concurrency: int, mode: str) -> None:
    me = [sys.executable, "-m", "benchmarks.concurrency"]
    server = subprocess.Popen([*me, "--serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    try:
        command = [*me, "--once", port, str(concurrency), mode]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    finally:
        server.kill()
        server.communicate()
    ideal = (found["calls"] - 1) * SECONDS / concurrency + found["write"]
    print(
        f"| {concurrency} | {mode} | {found['wall']:.2f} s | {ideal:.2f} s | "
        f"{found['wall'] / ideal:.2f} | {found['most']} | {found['cpu']:.2f} s |",
        flush=True,
    )


if __name__ == "__main__":
    main()
