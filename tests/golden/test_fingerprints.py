"""Fingerprints, by which stored documents and paid answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentTransformer
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from langchain_rag._identity import declared_name
from langchain_rag.document_transformers import (
    ContextualSplitter,
    CopyDocumentTransformer,
    DocumentSummaryTransformer,
    GenerateQuestionsTransformer,
    HeadingSplitter,
    HierarchicalSplitter,
    KeywordsTransformer,
    Prefixed,
    PropositionsTransformer,
    RaptorTransformer,
    SentenceSplitter,
    SoftClustering,
    SummarizeAndQuestionsTransformer,
    SummarizeTransformer,
    fingerprint_of,
)
from langchain_rag.document_transformers.splitters.sentences import sentence_spans
from langchain_rag.document_transformers.trees.hierarchical import estimated_tokens
from langchain_rag.embedding_cache import identity_of_embeddings
from langchain_rag.local import embeddings as local
from langchain_rag.testing import ScriptedChatModel
from tests.golden.pinned import pinned


@declared_name("Structured")
class Structured(ScriptedChatModel):
    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        return RunnableLambda(str)


LLM = ScriptedChatModel(answer=str)
STRUCTURED = Structured(answer=str)
EMBEDDINGS = DeterministicFakeEmbedding(size=8)
TOKENS: Any = estimated_tokens
COPY = CopyDocumentTransformer()
SENTENCES = SentenceSplitter()
QUESTIONS = GenerateQuestionsTransformer.from_llm(LLM)
CHAT = ChatPromptTemplate.from_messages([("system", "Ask."), ("human", "{context}")])
RAPTOR = RaptorTransformer(
    LLM, SENTENCES, EMBEDDINGS, clustering=SoftClustering(reduction="pca")
)

TRANSFORMERS: dict[str, tuple[BaseDocumentTransformer, str]] = {
    "copy": (COPY, "2ad77886d9763c2e4e2ba586b87de1261a486e4bee4a54aa310e1fb59a9dd34c"),
    "questions": (
        QUESTIONS,
        "682a8a428110e3eb16082bad6195207484ffa8f0bef341ed392f1d26cd54022b",
    ),
    "five questions": (
        GenerateQuestionsTransformer.from_llm(LLM, nb_of_questions=5),
        "9467af02961ce8703cadfe49066763b6b2fe3de3cea6702b6c1e96ddeff2b50a",
    ),
    "prompt": (
        GenerateQuestionsTransformer.from_llm(LLM, "About {context}"),
        "463d80d74115d62708efb24e356139ac9c3105515956aab27b66f18ef801df99",
    ),
    "chat prompt": (
        GenerateQuestionsTransformer.from_llm(LLM, CHAT),
        "87a5b1272905d0367db294095a8eb1e8b033ef59732d1f288e194a8d20c6e0cc",
    ),
    "arguments": (
        GenerateQuestionsTransformer.from_llm(LLM.bind(stop=["."])),
        "68532c8e7b5df0cf5f4a56013338e61db7ac278ff57b987811be601f575335f9",
    ),
    "version": (
        GenerateQuestionsTransformer.from_llm(LLM, version="2"),
        "328a12bdcfbf0f039c42b061daa7cb516e6b5e9f8c62e3e48e599d162c2e9edb",
    ),
    "vouched for": (
        GenerateQuestionsTransformer.from_llm(RunnableLambda(str), version="2"),
        "71983f47b861ad2fb805bb5a7122219db9087b6f104dc9a49bf658a934d8a444",
    ),
    "summarize": (
        SummarizeTransformer.from_llm(LLM),
        "52025b893b597657d71a4b253feffaf984b2ddc687fccd277b8e9a8d645168b6",
    ),
    "keywords": (
        KeywordsTransformer.from_llm(LLM),
        "9248bcde040eb396bdd64700d7bf6cf54ac2246a8aea21f3c03b88dca82318c6",
    ),
    "propositions": (
        PropositionsTransformer.from_llm(LLM),
        "b944baa5e833bc7db7e8556a39ebd54343065fd77d518403de8b08e8a7da4a61",
    ),
    "summary and questions": (
        SummarizeAndQuestionsTransformer.from_llm(LLM),
        "4e32327288e11ed9b4aa71e6d05abe2df6b5d4aad443f83ec2ee21f2fc68c939",
    ),
    "structured output": (
        SummarizeAndQuestionsTransformer.from_llm(STRUCTURED),
        "9484056f0ae988ea2cd8ea925cb10fe4d3e5cd0d525307b0a2ea9c539a4d5a66",
    ),
    "contextual": (
        ContextualSplitter.from_llm(LLM, SENTENCES),
        "0718a3b6f76cd09af23ffd2376c6e9c6146f181320824d080a52bcd040eb3c30",
    ),
    "contextual, whole": (
        ContextualSplitter.from_llm(LLM, SENTENCES, follow_document=True, max_characters=99),
        "b7593038357680d40ac1435509359480d62b871b36030c966edf8245d652c030",
    ),
    "prefixed": (
        Prefixed(COPY, keys=("title",)),
        "0b361433a3669f7dcf814fcef84267e7f1f79609ca7d63f5ceaf7ecc05310494",
    ),
    "sentences": (
        SENTENCES,
        "489d3ba235dc5aea00cc43569693b9f3a93a922cf7264a40a6a5ea5845afc760",
    ),
    "long sentences": (
        SentenceSplitter(min_characters=9, split=sentence_spans),
        "4d265fe4072f957878a9f62eb07a442ae92408e906beb10620fc19a270a40488",
    ),
    "hierarchical": (
        HierarchicalSplitter(),
        "2ac30546a5cc8a99ee2a74fa38924cbbb90f3dc73fcb9e78c2aed226437ae76e",
    ),
    "hierarchical, by characters": (
        HierarchicalSplitter((9, 3), length_function=len),
        "32d238d250a19e71b44ec01f6ff0742f4da121d4a99d5fc20bd807df9efec1b2",
    ),
    "hierarchical, of splitters": (
        HierarchicalSplitter(splitters=[COPY, SENTENCES]),
        "77012a69df9d5a0e9eff39f1778978f9d65a67c6e792c279bb6e68ec405f8759",
    ),
    "markdown": (
        HeadingSplitter.markdown(),
        "ad8c6c13e4e72b69eac5d1c070c13e1796291b51105dda44ab20fef948795629",
    ),
    "markdown, some headings": (
        HeadingSplitter.markdown([("#", "Title")]),
        "e503bdd8bcb899074fc55d7fdf1843d8ac4416c406b04009c3aa2cab22b59a69",
    ),
    "html": (
        HeadingSplitter.html(),
        "9633f35e675a2d6e6f0fb65453dac8a2589f7751059ebd222c9910af2c11f33e",
    ),
    "document summary": (
        DocumentSummaryTransformer(LLM, SENTENCES),
        "7239c3baae124334dbc573062e4a320bd236ada780dc474960633b3b9550a572",
    ),
    "document summary, by tokens": (
        DocumentSummaryTransformer(LLM, SENTENCES, length=TOKENS),
        "77f58cfbffb0b8f528ee4112c61276de0ecd9a55f8e8bd13df9b247d7aa390b1",
    ),
    "raptor": (RAPTOR, "cba7d52c5f131a614d648f4ba9846383f43fa7f6ae6b95ed28a8507279c92607"),
    "raptor, summaries of a group": (
        RAPTOR.over([]),
        "05e25550243809c2c71882d372bea5b0bf5cd08456d1614b180e2edfd4c023e7",
    ),
    "parallel": (
        COPY + QUESTIONS,
        "aef1e11af4c030f89629868a9228a2588fb811c1ccbc5d42730c776fc0c3c7f8",
    ),
    "pipeline": (
        SENTENCES | COPY,
        "1939f2e8029afa5462177d9cc4b61d987e6d427f3dd55ffd1ef9539a43c32ad1",
    ),
    "LangChain's": (
        CharacterTextSplitter(separator=" ", chunk_size=9, chunk_overlap=0),
        "bc9a65ee0744779d38549e8b904d085fc9724adb9490018d89af111474a7c8f6",
    ),
    "LangChain's, recursive": (
        RecursiveCharacterTextSplitter(),
        "59fe85c2c8fcdf1cdc9f7a13794247adfaec420eba11e530b895e1a6d76e60a3",
    ),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_of_transformers(name: str) -> None:
    transformer, stored = TRANSFORMERS[name]
    pinned(fingerprint_of(transformer), stored)


def test_of_answers() -> None:
    contextual = ContextualSplitter.from_llm(LLM, SENTENCES)
    pinned(
        contextual.fingerprint_of_answers,
        "26ef3d1a204c01ee31e0f9970b2ec8faaec2f49194832bf2fa6b0f0dbe51bac9",
    )
    pinned(
        RAPTOR._summaries.fingerprint_of_answers,
        "52476856226bb40bf850cc8154e7ec94e1e0a99510c3a1e135b61a03e97a1e09",
    )


def test_of_clusterings() -> None:
    pinned(
        SoftClustering(reduction="pca").fingerprint,
        "f37e280844dbd28882e90cb8d63b971e797ec529b6a727b7b3243f4416eceae3",
    )


def test_of_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    version: Callable[[str], str] = {"wordllama": "0.3.9"}.__getitem__
    monkeypatch.setattr(local, "version", version)
    pinned(
        local.WordLlamaEmbeddings().fingerprint, "WordLlamaEmbeddings wordllama 0.3.9, size 256"
    )
    pinned(
        identity_of_embeddings(EMBEDDINGS),
        "DeterministicFakeEmbedding size 8 a1ceae00958c7d946b37b89c25df7dc6",
    )
