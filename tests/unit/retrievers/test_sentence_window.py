"""Windows of sentences, against a reference that counts sentences and goes through all."""

from __future__ import annotations

import logging
from typing import Any, Final, Literal

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.document_transformers import CopyDocumentTransformer, SummarizeTransformer
from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers.sentence_window import SentenceWindowRetriever
from langchain_rag.testing import (
    ScriptedChatModel,
    ScriptedTransformer,
    SyncOnlyVectorStore,
)
from langchain_rag.vectorstores import RAGVectorStore

WITHIN: Final[tuple[Literal["chunk", "document"], ...]] = ("chunk", "document")

PARAGRAPHS = ScriptedTransformer(lambda text: text.split("\n\n"))

# Documents of paragraphs of sentences; each sentence of one, two or three words.
CORPUS = [
    [
        [f"Doc{d} par{p} num{s}{' more' * (s % 3)}." for s in range(2 + (d + p) % 4)]
        for p in range(3)
    ]
    for d in range(5)
]


def document(d: int) -> Document:
    text = "\n\n".join(" ".join(paragraph) for paragraph in CORPUS[d])
    return Document(text, id=f"d{d}", metadata={"d": d})


def reference(
    space: Any, query: str, k: int, size: int, within: str
) -> list[tuple[str, dict[str, Any]]]:
    """Text and metadata of the windows, found by counting sentences."""
    # Of each sentence: which text it is in, and which sentence of that it is.
    owners: dict[Any, list[tuple[int, int, str]]] = {}
    places: list[tuple[Any, int]] = []
    flat: list[str] = []
    for d, paragraphs in enumerate(CORPUS):
        for p, sentences in enumerate(paragraphs):
            owner: Any = d if within == "document" else (d, p)
            for sentence in sentences:
                inside = owners.setdefault(owner, [])
                blank = 0 if not inside else 1 if inside[-1][1] == p else 2
                start = inside[-1][0] + len(inside[-1][2]) + blank if inside else 0
                places.append((owner, len(inside)))
                inside.append((start, p, sentence))
                flat.append(sentence)
    ranking = [places[n] for n in space.embeddings.ranked(query, flat)]
    number = k
    while True:
        chosen: list[tuple[Any, set[int]]] = []
        for owner, place in ranking[:number]:
            last = len(owners[owner]) - 1
            window = set(range(max(0, place - size), min(last, place + size) + 1))
            meets = [one for one in chosen if one[0] == owner and one[1] & window]
            if not meets:
                chosen.append((owner, window))
                continue
            meets[0][1].update(window, *(other for _, other in meets[1:]))
            chosen = [one for one in chosen if one not in meets[1:]]
        if len(chosen) >= k or number >= len(ranking):
            break
        number *= 2
    found = []
    for owner, window in chosen[:k]:
        d = owner if within == "document" else owner[0]
        text = document(d).page_content
        if within == "chunk":
            text = text.split("\n\n")[owner[1]]
        begin, end = owners[owner][min(window)], owners[owner][max(window)]
        cut = text[begin[0] : end[0] + len(end[2])]
        found.append((cut, {"d": d, "start_index": begin[0]}))
    return found


@pytest.fixture
async def rag(driver, space):
    rag = space.rag(parent_transformer=PARAGRAPHS, chunk_transformer=SentenceSplitter())
    await driver(rag, "add_documents", [document(d) for d in range(len(CORPUS))])
    return rag


@pytest.mark.parametrize("within", ["chunk", "document"])
async def test_against_a_reference(driver, space, rag, within):
    queries = [f"query {n}" for n in range(4)]
    for size, k in [(0, 3), (1, 2), (1, 5), (2, 40), (9, 6)]:
        retriever = SentenceWindowRetriever(
            vectorstore=rag, k=k, window=size, within=within, fallback=False
        )
        expected = [reference(space, query, k, size, within) for query in queries]
        space.embeddings.reset()
        found = await driver(retriever, "batch", queries)
        assert sorted(space.embeddings.queries) == queries  # each embedded once
        assert [
            [(one.page_content, one.metadata) for one in some] for some in found
        ] == expected
        assert all(one.id is None for some in found for one in some)


async def test_k_windows_where_the_nearest_sentences_are_of_one_text(driver, embeddings):
    """Sixteen sentences of one text match best; they are one window."""
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(embeddings),
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=SentenceSplitter(),
    )
    many = " ".join(f"Prime n{n}." for n in range(16))
    others = [f"Some prime is in the long number {n} here." for n in range(3)]
    await driver(rag, "add_texts", [many, *others])
    retriever = SentenceWindowRetriever(vectorstore=rag, k=3, window=1, fallback=False)
    embeddings.reset()
    found = await driver(retriever, "invoke", "prime")
    assert found[0].page_content == many
    assert len({one.page_content for one in found}) == 3
    assert {one.page_content for one in found[1:]} < set(others)
    assert embeddings.queries == ["prime"]
    assert len(await driver(retriever, "invoke", "prime", k=4)) == 4
    assert len(await driver(retriever, "invoke", "prime", k=100)) == 4


def small(embeddings, splitter=None, parent=PARAGRAPHS, **options) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(embeddings),
        docstore=InMemoryStore(),
        source_id_key=None,
        parent_transformer=parent,
        chunk_transformer=splitter or SentenceSplitter(),
        **options,
    )


async def test_the_window_ends_with_the_chunk_or_goes_on(driver, embeddings):
    rag = small(embeddings)
    await driver(rag, "add_texts", ["Alpha one. Beta two.\n\nGamma three. Delta four."])
    chunk = SentenceWindowRetriever(vectorstore=rag, k=1, window=1)
    whole = SentenceWindowRetriever(vectorstore=rag, k=1, window=1, within="document")
    [one] = await driver(chunk, "invoke", "gamma three")
    assert (one.page_content, one.metadata) == ("Gamma three. Delta four.", {"start_index": 0})
    [one] = await driver(whole, "invoke", "gamma three")
    assert one.page_content == "Beta two.\n\nGamma three. Delta four."
    assert one.metadata == {"start_index": 11}


UNICODE = [
    "数は美しい。素数は無限にある。ユークリッドが証明した。",
    "Ça va… Où est l'été 🌞? 👩‍👩‍👧 vont à Zürich. Ἀρχιμήδης ἔφη.",
    "e\u0301te\u0301 arrive. नमस्ते दुनिया। مرحبا بالعالم؟ Done.",
]


@pytest.mark.parametrize("space", ["memory"], indirect=True)  # which only keeps the texts
@pytest.mark.parametrize("within", ["chunk", "document"])
@pytest.mark.parametrize("text", UNICODE, ids=["no blanks", "emoji", "marks"])
async def test_unicode(driver, space, within, text):
    rag = space.rag(chunk_transformer=SentenceSplitter())
    await driver(rag, "add_documents", [Document(text)])
    sentences = [text[start:end] for start, end in SentenceSplitter().spans(text)]
    assert len(sentences) >= 2
    for n, sentence in enumerate(sentences):
        retriever = SentenceWindowRetriever(
            vectorstore=rag, k=1, window=1, within=within, fallback=False
        )
        [found] = await driver(retriever, "invoke", sentence)
        first, last = sentences[max(0, n - 1)], sentences[min(len(sentences) - 1, n + 1)]
        start = text.index(first)
        assert found.page_content == text[start : text.index(last) + len(last)]
        assert found.metadata == {"start_index": start}


async def test_a_sentence_that_is_there_twice(driver, embeddings):
    """In one chunk, equal sentences are one variation, which stands for the first of them."""
    rag = small(embeddings)
    await driver(
        rag, "add_texts", ["Yes it is. One here. Yes it is. Two there.\n\nYes it is. Three."]
    )
    retriever = SentenceWindowRetriever(vectorstore=rag, k=2, window=0, fallback=False)
    for within, starts in zip(WITHIN, ({0}, {0, 44}), strict=True):
        retriever = SentenceWindowRetriever(
            vectorstore=rag, k=2, window=0, within=within, fallback=False
        )
        found = await driver(retriever, "invoke", "yes it is")
        assert [one.page_content for one in found] == ["Yes it is."] * 2
        assert {one.metadata["start_index"] for one in found} == starts


async def test_a_chunk_that_is_also_a_part_of_the_one_before(driver, embeddings):
    rag = small(embeddings, parent=ScriptedTransformer(str.splitlines))
    rest = "Much else is said in this document, so that it is long."
    await driver(rag, "add_texts", [f"Alpha is. Hello you. Beta is.\nHello you.\n{rest}"])
    retriever = SentenceWindowRetriever(
        vectorstore=rag, k=2, window=0, within="document", fallback=False
    )
    found = await driver(retriever, "invoke", "hello you")
    assert [one.page_content for one in found] == ["Hello you."] * 2
    assert {one.metadata["start_index"] for one in found} == {10, 30}


async def test_chunks_that_overlap(driver, embeddings):
    """A sentence of two chunks is one window of the document, and two of the chunks."""
    parts = ["Alpha one. Beta two.", "Beta two. Gamma three."]
    rag = small(embeddings, parent=ScriptedTransformer(lambda _: parts))
    await driver(rag, "add_texts", ["Alpha one. Beta two. Gamma three."])
    chunk = SentenceWindowRetriever(vectorstore=rag, k=3, window=0, fallback=False)
    found = await driver(chunk, "invoke", "beta two")
    assert [one.page_content for one in found][:2] == ["Beta two."] * 2
    assert {one.metadata["start_index"] for one in found[:2]} == {0, 11}
    whole = SentenceWindowRetriever(
        vectorstore=rag, k=3, window=0, within="document", fallback=False
    )
    found = await driver(whole, "invoke", "beta two")
    assert found[0].page_content == "Beta two."
    assert sorted(one.metadata["start_index"] for one in found) == [0, 11, 21]
    [found] = await driver(
        SentenceWindowRetriever(vectorstore=rag, k=1, window=1, within="document"),
        "invoke",
        "beta two",
    )
    assert found.page_content == "Alpha one. Beta two. Gamma three."


async def test_a_match_that_is_no_part_of_its_chunk_brings_it_whole(driver, embeddings):
    llm = ScriptedChatModel(answer=lambda _: "summary about algebra")
    rag = small(embeddings, SentenceSplitter() + SummarizeTransformer.from_llm(llm))
    text = "It began. It went on. It ended."
    await driver(rag, "add_texts", [text])
    retriever = SentenceWindowRetriever(
        vectorstore=rag, k=1, window=0, search_kwargs={"match_details": True}, fallback=False
    )
    [found] = await driver(retriever, "invoke", "summary about algebra")
    assert found.page_content == text
    match = found.metadata["langchain_rag_match"]
    assert (match["kind"], match["rank"]) == ("summary", 1)
    [found] = await driver(retriever, "invoke", "summary about algebra", kinds={"sentence"})
    assert found.page_content in text
    assert found.page_content != text


async def test_a_segmentation_that_finds_nothing(driver, embeddings):
    rag = small(embeddings, CopyDocumentTransformer())
    await driver(rag, "add_texts", ["no sentence at all"])
    retriever = SentenceWindowRetriever(
        vectorstore=rag,
        k=1,
        window=2,
        splitter=SentenceSplitter(split=lambda _: []),
        fallback=False,
    )
    [found] = await driver(retriever, "invoke", "sentence")
    assert found.page_content == "no sentence at all"


def by_bars(text: str) -> list[str]:
    """A segmentation by others, which gives texts."""
    return [part for part in text.split("|") if part]


async def test_the_segmentation_of_the_splitter(driver, embeddings):
    splitter = SentenceSplitter(split=by_bars)
    rag = small(embeddings, splitter)
    await driver(rag, "add_texts", ["alpha one|beta two|gamma three"])
    for given, expected in [
        (splitter, "alpha one|beta two|"),
        (SentenceSplitter(), "alpha one|beta two|gamma three"),  # one sentence to the rules
    ]:
        retriever = SentenceWindowRetriever(
            vectorstore=rag, k=1, window=1, splitter=given, fallback=False
        )
        [found] = await driver(retriever, "invoke", "alpha one")
        assert found.page_content == expected


async def test_short_sentences_that_were_joined(driver, embeddings):
    splitter = SentenceSplitter(min_characters=10)
    rag = small(embeddings, splitter)
    await driver(rag, "add_texts", ["Oh. So. Alpha it is. No. Beta. It was."])
    retriever = SentenceWindowRetriever(
        vectorstore=rag, k=1, window=0, splitter=splitter, fallback=False
    )
    [found] = await driver(retriever, "invoke", "alpha")
    assert found.page_content == "Oh. So. Alpha it is."


async def test_the_chunk_s_own_start_index_is_not_the_sentence_s(driver, embeddings):
    """A splitter that adds its index to chunks does not confuse those of the sentences."""

    class Indexed(ScriptedTransformer):
        def transform_documents(self, documents, **kwargs):
            made = super().transform_documents(documents, **kwargs)
            for one in made:
                one.metadata["start_index"] = documents[0].page_content.index(one.page_content)
            return made

    rag = small(embeddings, parent=Indexed(lambda text: text.split("\n\n")))
    text = "Aaaaa.\n\nBe it. Aaaa it. Be so. See it."
    await driver(rag, "add_texts", [text])
    for within, start in zip(WITHIN, (8, 8), strict=True):
        retriever = SentenceWindowRetriever(
            vectorstore=rag, k=1, window=0, within=within, fallback=False
        )
        [found] = await driver(retriever, "invoke", "Be it")
        assert (found.page_content, found.metadata["start_index"]) == ("Be it.", start)


class Secretive(SyncOnlyVectorStore):
    """A store of which nothing is known: what it holds is under another name."""

    @property
    def inner(self):
        return self._held

    @inner.setter
    def inner(self, held):
        self._held = held


async def test_kinds_over_a_store_whose_filters_nobody_knows(driver, embeddings):
    """The nearest rows are all of other kinds, for more than one round."""
    rag = RAGVectorStore(
        vectorstore=Secretive(embeddings),
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=CopyDocumentTransformer() + SentenceSplitter(),
    )
    await driver(
        rag,
        "add_documents",
        [Document("Alpha. Beta.") for _ in range(9)],
        ids=list("abcdefghi"),
    )
    retriever = SentenceWindowRetriever(
        vectorstore=rag, k=2, window=0, search_kwargs={"kinds": {"sentence"}}, fallback=False
    )
    found = await driver(retriever, "invoke", "alpha beta")
    assert len(found) == 2
    assert all(one.page_content in {"Alpha.", "Beta."} for one in found)


async def test_whole_documents_are_no_windows(driver, embeddings):
    retriever = SentenceWindowRetriever(vectorstore=small(embeddings))
    with pytest.raises(ConfigurationError, match="leave return_documents out"):
        await driver(retriever, "invoke", "q", return_documents=True)


@pytest.mark.parametrize("fallback", [True, False])
async def test_a_stage_that_fails(driver, embeddings, caplog, fallback):
    def broken(text):
        raise RuntimeError("no model")

    rag = small(embeddings)
    await driver(rag, "add_texts", ["Alpha one. Beta two.\n\nGamma three."])
    splitter = SentenceSplitter(split=broken)
    retriever = SentenceWindowRetriever(
        vectorstore=rag, k=1, splitter=splitter, fallback=fallback
    )
    if not fallback:
        with pytest.raises(RuntimeError, match="no model"):
            await driver(retriever, "invoke", "alpha one")
        return
    with caplog.at_level(logging.WARNING):
        found = await driver(retriever, "invoke", "alpha one")
    assert found == await driver(rag, "similarity_search", "alpha one", k=1)
    assert [one.page_content for one in found] == ["Alpha one. Beta two."]
    [message] = caplog.messages
    assert message.startswith("SentenceWindowRetriever failed (RuntimeError: no model)")


async def test_what_is_gone_is_not_found(driver, embeddings):
    """A chunk that another process has just deleted, of which a row is still there."""
    rag = small(embeddings)
    await driver(
        rag, "add_documents", [Document("Alpha one.", id="a"), Document("Alpha two.", id="b")]
    )
    [gone] = rag.get_by_ids(["a"])
    keys = [key for key in rag.docstore.yield_keys() if "chunk" in key]
    values = dict(zip(keys, rag.docstore.mget(keys), strict=True))
    rag.docstore.mdelete(
        [key for key, one in values.items() if one and one.page_content == gone.page_content]
    )
    for within in WITHIN:
        retriever = SentenceWindowRetriever(vectorstore=rag, k=2, within=within, fallback=False)
        found = await driver(retriever, "invoke", "alpha one")
        assert [one.page_content for one in found] == ["Alpha two."]
