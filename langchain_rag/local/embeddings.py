"""Static word embeddings from a package: small, quick, the same on every machine."""

from __future__ import annotations

import logging
import math
from importlib import import_module
from importlib.metadata import version
from importlib.resources import as_file, files
from types import ModuleType
from typing import Any, Final

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_rag._identity import class_of, declared_name
from langchain_rag.errors import ConfigurationError

__all__ = ["WordLlamaEmbeddings"]

DIMENSIONS: Final = 256


@declared_name("WordLlamaEmbeddings")
class WordLlamaEmbeddings(Embeddings):
    """Embeddings of the `wordllama` package, which carries its weights.

    A text is the mean of the static vectors of its tokens, so word order does not count and
    there is nothing to run on a GPU: thousands of short texts take about a second. Vectors
    have 256 numbers and length 1, so that a dot product is a cosine; a text without any
    token gives the zero vector.

    Raises:
        ConfigurationError: `wordllama` is not installed.

    Example:
        >>> embeddings = WordLlamaEmbeddings()
        >>> prime, dividing, bread = embeddings.embed_documents(
        ...     ["prime numbers", "dividing by a prime", "baking bread"]
        ... )
        >>> def cosine(a, b):
        ...     return sum(x * y for x, y in zip(a, b))
        >>> len(prime), cosine(prime, dividing) > cosine(prime, bread)
        (256, True)
    """

    def __init__(self) -> None:
        try:
            wordllama = _imported("wordllama")
        except ImportError as error:
            msg = (
                f"The local embeddings cannot be loaded ({error}): install them with"
                ' pip install "langchain-rag[local]", or give other embeddings.'
            )
            raise ConfigurationError(msg) from error
        # Its look-up of the tokenizer that it ships goes to `tokenizer/`, where the folder
        # is called `tokenizers/`; as its own cache the package is searched under that name.
        with as_file(files("wordllama")) as folder:
            self._model: Any = wordllama.WordLlama.load(
                cache_dir=folder, dim=DIMENSIONS, disable_download=True
            )

    @property
    def fingerprint(self) -> str:
        """What tells its vectors from those of other embeddings, for a cache of them."""
        return f"{class_of(self)} wordllama {version('wordllama')}, size {DIMENSIONS}"

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts.

        Args:
            texts: Any number of texts.

        Returns:
            A vector of 256 numbers for each.
        """
        if not texts:
            return []
        return [_normalised(vector) for vector in self._model.embed(texts).tolist()]

    @override
    def embed_query(self, text: str) -> list[float]:
        """Embed a query, in the same way as a document.

        Args:
            text: The query.

        Returns:
            256 numbers.
        """
        return self.embed_documents([text])[0]


def _imported(name: str) -> ModuleType:
    # The package sets up the root logger on import, which is the application's to do.
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        return import_module(name)
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def _normalised(vector: list[float]) -> list[float]:
    # Not left to the model, which divides by zero for a text without tokens.
    length = math.hypot(*vector)
    return [number / length for number in vector] if length else vector
