"""LangChain's retrievers stacked over `RAGVectorStore`, as one chain.

`RAGVectorStore` in a self-query, beside a retriever of summaries in a `MergerRetriever`, in a
`MultiQueryRetriever`, in a `ContextualCompressionRetriever` that reorders.
"""

import json
import uuid

import pytest
from langchain_classic.chains.query_constructor.schema import AttributeInfo
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_classic.retrievers.self_query.base import (
    SelfQueryRetriever as LangChainsSelfQueryRetriever,
)
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    DocumentTransformers,
    GenerateQuestionsTransformer,
    LongContextReorder,
    SummarizeTransformer,
)
from langchain_rag.retrievers import SelfQueryRetriever
from langchain_rag.testing import CountingEmbeddings, ScriptedChatModel
from langchain_rag.vectorstores import RAGVectorStore

# Of each chunk: its summary, and questions that it answers.
CHUNKS = {
    "Euler walked the seven bridges of Königsberg and began the theory of graphs.": (
        "Graph theory began with bridges.",
        ["Who began graph theory?", "Which bridges did Euler walk?"],
    ),
    "Gauss proved that every polynomial has a root among the complex numbers.": (
        "The fundamental theorem of algebra.",
        ["Who proved the theorem on roots?", "Has every polynomial a root?"],
    ),
    "Noether tied every symmetry of physics to a quantity that is conserved.": (
        "For each symmetry something is conserved.",
        ["What did Noether prove?", "Why is energy conserved?"],
    ),
    "Hypatia taught geometry in Alexandria and commented on the conics.": (
        "A teacher of geometry in Alexandria.",
        ["Who taught in Alexandria?", "Who commented on the conics?"],
    ),
}
EULER, GAUSS, NOETHER, HYPATIA = CHUNKS
DOCUMENTS = [
    Document(f"{EULER}\n\n{GAUSS}", metadata={"source": "old.md", "century": 18, "by": ["A"]}),
    Document(NOETHER, metadata={"source": "new.md", "century": 20, "by": ["A", "B"]}),
    Document(HYPATIA, metadata={"source": "ancient.md", "by": []}),
]
VARIANTS = {
    "Who began the theory of graphs before 1900?": [
        "Who began graph theory before 1900?",
        "Which bridges did Euler walk before 1900?",
    ],
    "What is conserved?": ["Why is energy conserved?", "Which symmetry is conserved?"],
}
GRAPHS, CONSERVED = VARIANTS


def answer(prompt):
    """What a model that understood the prompt would say."""
    if "Original question: " in prompt:
        return "\n".join(VARIANTS[prompt.split("Original question: ")[1]])
    if "Structured Request:" in prompt:
        query = prompt.rsplit("User Query:", 1)[1].split("Structured Request:")[0].strip()
        request = {"query": query, "filter": "NO_FILTER"}
        if query.endswith(" before 1900?"):
            request["query"] = query.removesuffix(" before 1900?")
            request["filter"] = 'not(gte("century", 20))'
        return f"```json\n{json.dumps(request)}\n```"
    if prompt.startswith("Answer from:"):
        return f"According to {prompt.count('[')} documents: {EULER in prompt}"
    for chunk, (summary, questions) in CHUNKS.items():
        if prompt.startswith(chunk):
            return summary if "Summarize" in prompt else "\n".join(questions)
    pytest.fail(f"a prompt that nobody foresaw: {prompt}")


@pytest.fixture
def llm():
    return ScriptedChatModel(answer=answer)


@pytest.fixture(params=["chroma", "memory"])
def backend(request):
    """A store to wrap, and the arguments by which it finds summaries."""
    if request.param == "memory":
        wanted = {"filter": lambda row: row.metadata["transformer"] == "SummarizeTransformer"}
        yield InMemoryVectorStore(CountingEmbeddings(256)), wanted
        return
    import chromadb
    from chromadb.config import Settings
    from langchain_chroma import Chroma

    chroma = Chroma(
        uuid.uuid4().hex,
        CountingEmbeddings(256),
        client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
    )
    yield chroma, {"filter": {"transformer": "SummarizeTransformer"}}
    chroma.delete_collection()


@pytest.fixture
async def rag(backend, llm, driver):
    rag, index_kwargs = RAGVectorStore.from_vs_in_memory(
        backend[0],
        parent_transformer=CharacterTextSplitter(
            separator="\n\n", chunk_size=80, chunk_overlap=0
        ),
        chunk_transformer=DocumentTransformers(
            transformers=[
                GenerateQuestionsTransformer.from_llm(llm),
                SummarizeTransformer.from_llm(llm),
                CopyDocumentTransformer(),
            ]
        ),
    )
    result = await driver.index(DOCUMENTS, cleanup="scoped_full", **index_kwargs)
    assert result["num_added"] == 3
    return rag


FIELDS = [AttributeInfo(name="century", description="Of the life", type="integer")]


@pytest.fixture(params=["ours", "LangChain's"])
def self_query(request, rag, llm):
    if request.param == "ours":
        return SelfQueryRetriever.from_llm(
            llm, rag, "Mathematicians", FIELDS, search_kwargs={"k": 2}
        )
    return LangChainsSelfQueryRetriever.from_llm(
        llm,
        rag,
        "Mathematicians",
        FIELDS,
        structured_query_translator=rag.structured_query_translator(),
        search_kwargs={"k": 2},
    )


@pytest.fixture
def summaries(backend):
    chroma, kwargs = backend
    return chroma.as_retriever(search_kwargs={**kwargs, "k": 1})


@pytest.fixture
def stack(self_query, summaries, llm):
    merged = MergerRetriever(retrievers=[self_query, summaries])
    several = MultiQueryRetriever.from_llm(retriever=merged, llm=llm)
    reorder = DocumentCompressorPipeline(transformers=[LongContextReorder()])
    return ContextualCompressionRetriever(base_compressor=reorder, base_retriever=several)


def texts(documents):
    return [document.page_content for document in documents]


def metadata(chunk):
    return next(d.metadata for d in DOCUMENTS if chunk in d.page_content)


def check(documents, first, others, summary):
    """The chunks, each once and whole, and the summary as it is stored."""
    found = texts(documents)
    assert found[0] == first
    assert len(set(found)) == len(found)
    assert {text for text in found if text in CHUNKS} == {first, *others}
    assert [text for text in found if text not in CHUNKS] == [f"SUMMARY:\n{summary}"]
    for document in documents:
        if document.page_content in CHUNKS:
            assert document.metadata == metadata(document.page_content)


async def test_the_stack(driver, stack):
    documents = await driver(stack, "invoke", GRAPHS)
    # The filter keeps 20th-century Noether away, and Hypatia, who has no century.
    check(documents, EULER, [GAUSS], CHUNKS[EULER][0])


async def test_the_stack_in_a_batch(driver, stack):
    graphs, conserved = await driver(stack, "batch", [GRAPHS, CONSERVED])
    check(graphs, EULER, [GAUSS], CHUNKS[EULER][0])
    assert conserved[0].page_content == NOETHER
    assert f"SUMMARY:\n{CHUNKS[NOETHER][0]}" in texts(conserved)


async def test_the_stack_in_a_chain(driver, stack, llm):
    chain = (
        {"context": stack, "question": RunnablePassthrough()}
        | PromptTemplate.from_template("Answer from: {context}\nQuestion: {question}")
        | llm
        | StrOutputParser()
    )
    assert (await driver(chain, "invoke", GRAPHS)).endswith("documents: True")


async def test_a_chunk_hit_through_two_variations_is_one_document(driver, rag, llm):
    """Case 12: identical each time, so that retrievers take it for the same."""
    by_question = rag.as_retriever(search_kwargs={"k": 1})
    hits = [
        await driver(by_question, "invoke", query)
        for query in ("Who began graph theory?", "Which bridges did Euler walk?", EULER)
    ]
    assert hits[0] == hits[1] == hits[2]
    assert len({document.id for [document] in hits}) == 1
    assert hits[0][0].metadata == metadata(EULER)

    several = MultiQueryRetriever.from_llm(retriever=by_question, llm=llm)
    assert texts(await driver(several, "invoke", GRAPHS)) == [EULER]

    both = EnsembleRetriever(
        retrievers=[by_question, rag.as_retriever(search_kwargs={"k": 2})], weights=[0.5, 0.5]
    )
    found = await driver(both, "invoke", "Which bridges did Euler walk?")
    assert texts(found)[0] == EULER
    assert len(found) == len(set(texts(found))) == 2

    by_id = EnsembleRetriever(retrievers=[by_question, by_question], weights=[1, 1])
    assert await driver(by_id, "invoke", EULER) == hits[0]

    merged = MergerRetriever(retrievers=[by_question, by_question])
    assert await driver(merged, "invoke", EULER) == hits[0] * 2

    reorder = DocumentCompressorPipeline(transformers=[LongContextReorder()])
    compressed = ContextualCompressionRetriever(base_compressor=reorder, base_retriever=several)
    assert await driver(compressed, "invoke", GRAPHS) == hits[0]


async def test_summaries_can_be_searched_alone(driver, rag, summaries):
    [summary] = await driver(summaries, "invoke", "teacher of geometry")
    assert summary.page_content == f"SUMMARY:\n{CHUNKS[HYPATIA][0]}"
    assert summary.metadata["transformer"] == "SummarizeTransformer"
