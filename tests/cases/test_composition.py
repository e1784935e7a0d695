"""Each retriever under LangChain's own: several queries, merging, fusing, compressing.

What each retriever finds alone is written down here; what a composition makes of that follows
by rules that are a line each.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_classic.chains.query_constructor.schema import AttributeInfo
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import (
    DocumentCompressorPipeline,
    EmbeddingsFilter,
    LLMChainExtractor,
)
from langchain_core.documents import Document
from langchain_core.indexing import index
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.document_transformers import CopyDocumentTransformer, LongContextReorder
from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.document_transformers.trees.document_summary import (
    DocumentSummaryTransformer,
)
from langchain_rag.document_transformers.trees.hierarchical import HierarchicalSplitter
from langchain_rag.retrievers.auto_merging import AutoMergingRetriever
from langchain_rag.retrievers.hierarchical import HierarchicalRetriever
from langchain_rag.retrievers.hybrid import HybridRetriever
from langchain_rag.retrievers.lexical import LexicalRetriever
from langchain_rag.retrievers.self_query import SelfQueryRetriever
from langchain_rag.retrievers.sentence_window import SentenceWindowRetriever
from langchain_rag.retrievers.time_weighted import TimeWeightedRetriever
from langchain_rag.testing import CountingEmbeddings, Driver, ScriptedChatModel
from langchain_rag.vectorstores import RAGVectorStore

EULER = "Euler walked the seven bridges. He began the theory of graphs."
GAUSS = "Gauss found roots of all polynomials. He summed numbers as a child."
NOETHER = "Noether tied symmetry to conservation. Physics rests on this theorem."
HYPATIA = "Hypatia taught geometry in Alexandria. She wrote about conics."
CHUNKS = (EULER, GAUSS, NOETHER, HYPATIA)
DOCUMENTS = [
    Document(f"{EULER}\n\n{GAUSS}", metadata={"source": "old", "century": 18}),
    Document(NOETHER, metadata={"source": "new", "century": 20}),
    Document(HYPATIA, metadata={"source": "ancient", "century": 4}),
]
BRIDGES, GEOMETRY = "seven bridges", "geometry in Alexandria"
BOTH = "Who did both?"


def first(text: str) -> str:
    """The first sentence of a chunk."""
    return text.partition(". ")[0].rstrip(".") + "."


def answer(prompt: str) -> str:
    """What a model that understood the prompt would say."""
    if "Original question: " in prompt:
        assert prompt.endswith(BOTH)
        return f"{BRIDGES}\n{GEOMETRY}"
    if "Structured Request:" in prompt:
        query = prompt.rsplit("User Query:", 1)[1].partition("Structured Request:")[0].strip()
        request = {"query": query, "filter": 'lt("century", 20)'}
        return f"```json\n{json.dumps(request)}\n```"
    if "Extracted relevant parts:" in prompt:
        context = prompt.split(">>>")[1].strip()
        return "NO_OUTPUT" if context == NOETHER else first(context)
    if prompt.startswith("Answer "):
        return f"Found: {prompt}"
    [summarised] = [one for one in DOCUMENTS if prompt.startswith(one.page_content)]
    sentences = map(first, summarised.page_content.split("\n\n"))
    return f"Summary of {' '.join(sentences)}"


PARAGRAPHS = CharacterTextSplitter(separator="\n\n", chunk_size=80, chunk_overlap=0)

NAMES = [
    "similarity",
    "mmr",
    "sentence window",
    "auto-merging",
    "hierarchical",
    "time-weighted",
    "lexical",
    "hybrid",
    "self-query",
]


class Fixed(BaseRetriever):
    """Always finds the same."""

    texts: list[str]

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(text, metadata={"source": "fixed"}) for text in self.texts]


@pytest.fixture
def llm() -> ScriptedChatModel:
    return ScriptedChatModel(answer=answer)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def transformers(name: str) -> dict[str, Any]:
    """What a retriever needs of its store."""
    if name == "auto-merging":
        splitter = HierarchicalSplitter(splitters=[PARAGRAPHS, SentenceSplitter()])
        return {"parent_transformer": splitter}
    if name == "hierarchical":
        llm = ScriptedChatModel(answer=answer)
        return {"parent_transformer": DocumentSummaryTransformer(llm, PARAGRAPHS)}
    sentences = SentenceSplitter()
    copies = sentences if name == "sentence window" else CopyDocumentTransformer() + sentences
    return {"parent_transformer": PARAGRAPHS, "chunk_transformer": copies}


@pytest.fixture(scope="module")
def rags(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str, str], RAGVectorStore]]:
    """Makes the store of a retriever over one of two vector stores, once; none changes it."""
    made: dict[tuple[str, str], RAGVectorStore] = {}
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    # So large that no two of our words fall together.
    embeddings = CountingEmbeddings(512)

    def make(name: str, kind: str) -> RAGVectorStore:
        if (name, kind) in made:
            return made[name, kind]
        wrapped: VectorStore = InMemoryVectorStore(embeddings)
        if kind == "chroma":
            space = {"hnsw:space": "cosine"}
            wrapped = Chroma(
                f"test-{uuid.uuid4()}", embeddings, client=client, collection_metadata=space
            )
        path = tmp_path_factory.mktemp("docs") / "docs.sqlite"
        rag, kwargs = RAGVectorStore.from_vs_in_sql(
            wrapped, db_url=f"sqlite:///{path}", **transformers(name)
        )
        index(DOCUMENTS, cleanup="full", **kwargs)
        made[name, kind] = rag
        return rag

    yield make
    for rag in made.values():
        docstore: Any = rag.docstore
        docstore.engine.dispose()


@pytest.fixture
def rag(name: str, driver: Driver, rags: Callable[..., RAGVectorStore]) -> RAGVectorStore:
    # Both stores, without as many tests again.
    return rags(name, "chroma" if driver.name == "sync" else "memory")


@pytest.fixture
def retriever(name: str, rag: RAGVectorStore, llm) -> BaseRetriever:
    """Of the retriever that is tested, one that finds one document."""
    options: dict[str, Any] = {"vectorstore": rag, "k": 1}
    made = {
        "sentence window": lambda: SentenceWindowRetriever(window=0, **options, fallback=False),
        "auto-merging": lambda: AutoMergingRetriever(fetch_k=1, **options, fallback=False),
        "hierarchical": lambda: HierarchicalRetriever(documents=1, **options, fallback=False),
        "time-weighted": lambda: TimeWeightedRetriever(**options, fallback=False),
        "lexical": lambda: LexicalRetriever(**options, fallback=False),
        "hybrid": lambda: HybridRetriever(**options),
        "similarity": lambda: rag.as_retriever(search_kwargs={"k": 1}),
        "mmr": lambda: rag.as_retriever(search_type="mmr", search_kwargs={"k": 1}),
        "self-query": lambda: SelfQueryRetriever.from_llm(
            llm,
            rag,
            "Mathematicians",
            [AttributeInfo(name="century", description="Of the life", type="integer")],
            search_kwargs={"k": 1},
            fallback=False,
        ),
    }
    return made[name]()


@pytest.fixture
def alone(name: str) -> dict[str, Document]:
    """What it finds by itself."""

    def found(chunk: str, number: int) -> Document:
        metadata = dict(DOCUMENTS[number].metadata)
        if name == "sentence window":
            return Document(first(chunk), metadata={**metadata, "start_index": 0})
        return Document(
            chunk, metadata=metadata | ({"level": 0} if name == "hierarchical" else {})
        )

    return {BRIDGES: found(EULER, 0), GEOMETRY: found(HYPATIA, 2)}


def shown(documents: list[Document]) -> list[tuple[str, dict[str, Any]]]:
    """Text and metadata; ids are UUIDs of ours."""
    return [(one.page_content, one.metadata) for one in documents]


FIXED = Document(NOETHER, metadata={"source": "fixed"})


async def test_alone(driver, retriever, alone):
    for query, document in alone.items():
        assert shown(await driver(retriever, "invoke", query)) == shown([document])
    found = await driver(retriever, "batch", list(alone))
    assert [shown(some) for some in found] == [shown([one]) for one in alone.values()]


async def test_several_queries(driver, retriever, alone, llm):
    """What each query finds, in order, each document once."""
    several = MultiQueryRetriever.from_llm(retriever=retriever, llm=llm)
    found = await driver(several, "invoke", BOTH)
    assert shown(found) == shown([alone[BRIDGES], alone[GEOMETRY]])
    again = MultiQueryRetriever.from_llm(retriever=retriever, llm=llm, include_original=True)
    assert {one.page_content for one in await driver(again, "invoke", BOTH)} >= {
        one.page_content for one in found
    }


async def test_merged(driver, retriever, alone):
    """The first of each list, the second of each list, and so on."""
    merged = MergerRetriever(retrievers=[retriever, Fixed(texts=[NOETHER, GAUSS]), retriever])
    found = await driver(merged, "invoke", BRIDGES)
    fixed = [Document(text, metadata={"source": "fixed"}) for text in (NOETHER, GAUSS)]
    assert shown(found) == shown([alone[BRIDGES], fixed[0], alone[BRIDGES], fixed[1]])


async def test_fused(driver, retriever, alone):
    """The sums of weight / (60 + rank): two lists of .3 outweigh one of .4."""
    fixed = Fixed(texts=[NOETHER, GAUSS])
    fused = EnsembleRetriever(retrievers=[fixed, retriever, retriever], weights=[0.4, 0.3, 0.3])
    found = await driver(fused, "invoke", GEOMETRY)
    assert [one.page_content for one in found] == [
        alone[GEOMETRY].page_content,
        NOETHER,
        GAUSS,
    ]
    assert shown(found)[0] == shown([alone[GEOMETRY]])[0]


def compressing(
    retriever: BaseRetriever, llm: ScriptedChatModel, **limit: Any
) -> ContextualCompressionRetriever:
    """Without doublets, without what is far off, the best at both ends, and of each a part."""
    community = pytest.importorskip("langchain_community.document_transformers")
    embeddings = CountingEmbeddings(512)
    pipeline = DocumentCompressorPipeline(
        transformers=[
            community.EmbeddingsRedundantFilter(embeddings=embeddings),
            EmbeddingsFilter(embeddings=embeddings, **limit),
            LongContextReorder(),
            LLMChainExtractor.from_llm(llm),
        ]
    )
    return ContextualCompressionRetriever(base_compressor=pipeline, base_retriever=retriever)


# langchain-community warns of its own end when it is imported.
sunset = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@sunset
async def test_compressed(driver, retriever, alone, llm):
    """The doublet goes, and what has nothing to do with it; one sentence is left."""
    twice = MergerRetriever(retrievers=[retriever, retriever, Fixed(texts=[NOETHER, GAUSS])])
    compressed = compressing(twice, llm, k=None, similarity_threshold=0.2)
    for query, document in alone.items():
        found = await driver(compressed, "invoke", query)
        part = Document(first(document.page_content), metadata=document.metadata)
        assert shown(found) == shown([part])


def stack_of(retriever: BaseRetriever, llm: ScriptedChatModel) -> BaseRetriever:
    """Five layers: the retriever, fused, merged, asked several times, compressed."""
    fused = EnsembleRetriever(retrievers=[retriever, retriever], weights=[0.5, 0.5])
    merged = MergerRetriever(retrievers=[fused, Fixed(texts=[NOETHER])])
    several = MultiQueryRetriever.from_llm(retriever=merged, llm=llm)
    return compressing(several, llm, k=3)


@sunset
async def test_five_layers(driver, retriever, alone, llm):
    stack = stack_of(retriever, llm)
    parts = {
        (first(one.page_content), json.dumps(one.metadata, sort_keys=True))
        for one in alone.values()
    }

    def parts_of(documents: list[Document]) -> set[tuple[str, str]]:
        assert len(documents) == 2
        return {
            (one.page_content, json.dumps(one.metadata, sort_keys=True)) for one in documents
        }

    # NOETHER was found, too, and the extractor found nothing in it.
    assert parts_of(await driver(stack, "invoke", BOTH)) == parts
    assert [parts_of(some) for some in await driver(stack, "batch", [BOTH, BOTH])] == [
        parts
    ] * 2
    [streamed] = await driver(stack, "stream", BOTH)
    assert parts_of(streamed) == parts


@sunset
async def test_a_chain(driver, retriever, alone, llm, capsys):
    def lined(documents: list[Document]) -> str:
        return " | ".join(sorted(one.page_content for one in documents))

    chain = (
        {"context": stack_of(retriever, llm) | lined, "question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("Answer {question} from {context}")
        | llm
        | StrOutputParser()
    )
    context = " | ".join(sorted(first(one.page_content) for one in alone.values()))
    answers = [
        await driver(chain, "invoke", BOTH),
        *(await driver(chain, "batch", [BOTH, BOTH])),
    ]
    answers.append("".join(await driver(chain, "stream", BOTH)))
    assert set(answers) == {f"Found: Answer {BOTH} from {context}"}

    graph = chain.get_graph()
    print(graph.draw_mermaid())
    drawn = capsys.readouterr().out
    for layer in ("ContextualCompressionRetriever", "ChatPromptTemplate", "ScriptedChatModel"):
        assert layer in drawn
    alone_in_a_chain = (retriever | lined).get_graph().draw_mermaid()
    assert type(retriever).__name__ in alone_in_a_chain
