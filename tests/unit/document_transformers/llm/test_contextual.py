from __future__ import annotations

import logging
import os
import re
from collections import Counter

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.stores import InMemoryByteStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag._reserved import LINEAGE, NODE, TRANSFORMER
from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    ContextualSplitter,
    CopyDocumentTransformer,
    LazyDocumentTransformer,
    Node,
    Prefixed,
    marked,
    reads_metadata,
)
from langchain_rag.document_transformers.llm.parsing import sentence_of
from langchain_rag.document_transformers.llm.passages import Excerpts
from langchain_rag.document_transformers.llm.retries import Retries
from langchain_rag.errors import ConfigurationError, TransformerError

LINES = CharacterTextSplitter(separator="\n", chunk_size=1, chunk_overlap=0)
SHAPE = re.compile(r"<document>\n(.*)\n</document>.*<passage>\n(.*)\n</passage>\Z", re.DOTALL)


@pytest.fixture(autouse=True)
def _longer_pieces_are_meant(monkeypatch):
    # LangChain warns of each line that is longer than chunk_size.
    monkeypatch.setattr(logging.getLogger("langchain_text_splitters.base"), "level", 40)


def read(prompt):
    """The document and the chunk that a prompt is about."""
    found = SHAPE.search(prompt)
    assert found, prompt
    return found.groups()


def answer(prompt):
    document, chunk = read(prompt)
    return f"Context: {chunk} of {document.splitlines()[0]}."


def page(name, lines=3, **metadata):
    text = "\n".join([name, *(f"{name}{n}" for n in range(1, lines))])
    return Document(text, id=f"id-{name}", metadata={"source": name, **metadata})


def splitter(llm, **options):
    options = {"version": "1", **options}
    return ContextualSplitter.from_llm(llm, options.pop("splitter", LINES), **options)


def cached(cache=None):
    cache = cache or ByteStoreVariationCache(InMemoryByteStore())
    return {"configurable": {"variation_cache": cache}}


def test_each_chunk_gets_its_context(transform, scripted):
    llm = scripted(answer)
    documents = [page("a", n=[1], **{LINEAGE: "L"}), page("b"), Document("", id="blank")]
    made = transform(splitter(llm), documents)
    wanted = [
        (line, f"{line} of {document.page_content.splitlines()[0]}.")
        for document in documents
        for line in document.page_content.splitlines()
    ]
    assert [(one.page_content, one.metadata["context"]) for one in made] == wanted
    assert made[1].metadata == {
        "source": "a",
        "n": [1],
        LINEAGE: "L",
        TRANSFORMER: "ContextualSplitter",
        "context": "a1 of a.",
    }
    assert documents[0].metadata == {"source": "a", "n": [1], LINEAGE: "L"}
    assert Counter(map(read, llm.prompts)) == Counter(
        (document.page_content, line)
        for document in documents
        for line in document.page_content.splitlines()
    )


def test_prompts_about_a_document_begin_the_same(transform, scripted):
    llm = scripted(answer)
    document = page("a", 20)
    transform(splitter(llm), [document])
    assert len(llm.prompts) == 20
    common = os.path.commonprefix(llm.prompts)  # noqa: RUF071 - of any texts
    assert common.startswith(f"<document>\n{document.page_content}\n</document>")
    for prompt in llm.prompts:
        # Nothing but the chunk follows (all begin with "a", which is common too).
        assert prompt == f"{common.removesuffix('a')}{read(prompt)[1]}\n</passage>"


def test_one_call_goes_ahead_of_a_documents_others(transform, scripted):
    """A provider has the document in its cache when the others come."""
    begun: dict[str, int] = {}

    def watch(prompt):
        document, _ = read(prompt)
        # How many calls about the document had begun when the first of them was answered.
        begun.setdefault(document[0], sum(read(one)[0] == document for one in llm.prompts))
        return answer(prompt)

    llm = scripted(watch, seconds=0.03)
    transform(splitter(llm), [page("a", 4), page("b", 4)])
    assert begun == {"a": 1, "b": 1}
    assert llm.peak > 2


def test_all_calls_share_one_limit(transform, scripted):
    llm = scripted(answer, seconds=0.01)
    documents = [page(name, 4) for name in "abcdef"]
    transform(splitter(llm), documents, {"max_concurrency": 3})
    assert llm.peak == 3
    assert len(llm.prompts) == 24


def test_an_edit_costs_one_call(transform, scripted):
    llm, config = scripted(answer), cached()
    before = [page("a", 5), page("b", 5)]
    first = transform(splitter(llm), before, config)
    after = [Document(before[0].page_content.replace("a3", "new"), metadata={"source": "a"})]
    llm.prompts.clear()
    second = transform(splitter(llm), [*after, before[1]], config)
    assert [read(prompt)[1] for prompt in llm.prompts] == ["new"]
    kept = [one.metadata["context"] for one in first]
    kept[3] = "new of a."
    assert [one.metadata["context"] for one in second] == kept
    # A cache that follows the document asks about all of it.
    follows = splitter(llm, follow_document=True)
    transform(follows, before, config)
    llm.prompts.clear()
    transform(follows, [*after, before[1]], config)
    assert len(llm.prompts) == 5


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ({"source": "a"}, {"source": "a", "n": 2}, True),
        ({"source": "a", "title": "T"}, {"source": "a", "title": "U"}, False),
        ({"source": "a"}, {"source": "b"}, False),
        ({"source": 1}, {"source": "1"}, False),
        ({"source": "a"}, {}, False),
        ({}, {}, False),
        ({"n": 1}, {"n": 1, "source": None}, False),
    ],
)
def test_a_document_is_known_by_its_metadata(transform, scripted, one, other, shared):
    llm, config = scripted(answer), cached()
    transform(splitter(llm), [Document("same\nthis", metadata=one)], config)
    transform(splitter(llm), [Document("same\nthat", metadata=other)], config)
    assert len(llm.prompts) == (3 if shared else 4)
    pages = splitter(llm, document_keys=("n",))
    llm.prompts.clear()
    transform(pages, [Document("same\nthis", metadata={**one, "n": 7})], config)
    transform(pages, [Document("same\nthat", metadata={**other, "n": 7})], config)
    assert len(llm.prompts) == 3


def test_the_cache_outlives_another_splitter(transform, scripted):
    llm, config = scripted(answer), cached()
    transform(splitter(llm), [page("a")], config)
    other = CharacterTextSplitter(separator="\n", chunk_size=2, chunk_overlap=0)
    made = transform(splitter(llm, splitter=other, metadata_key="place"), [page("a")], config)
    assert len(llm.prompts) == 3
    assert [one.metadata["place"] for one in made] == ["a of a.", "a1 of a.", "a2 of a."]


def test_a_text_that_occurs_twice_has_two_contexts(transform, scripted):
    answers = iter(["The first.", "The second."])
    llm, config = scripted(lambda prompt: next(answers)), cached()
    document = Document("x1\nx1", metadata={"source": "a"})
    config["max_concurrency"] = 1
    for _ in range(2):
        made = transform(splitter(llm), [document], config)
        assert [one.metadata["context"] for one in made] == ["The first.", "The second."]


def test_what_is_not_searched_by_its_text_is_not_asked_about(transform, scripted):
    class Tree(LazyDocumentTransformer):
        def transform_document(self, document):
            yield marked(Document("top"), Node("t", level=1, searched=False))
            yield marked(Document("sum"), Node("s", level=1, kind="summary"))
            yield marked(Document("leaf"), Node("l", parents=("t", "s")))

    llm = scripted(answer)
    made = transform(splitter(llm, splitter=Tree()), [Document("top leaf", id="7")])
    assert [one.metadata.get("context") for one in made] == [None, None, "leaf of top leaf."]
    assert [one.metadata[NODE]["name"] for one in made] == ["t", "s", "l"]


def test_long_documents(transform, scripted, caplog):
    llm = scripted(answer)
    text = "\n".join(f"line {n:03}" for n in range(100))  # 8 characters each, 899 in all
    documents = [Document(text, id="7"), Document("line 000", id="8")]
    made = transform(splitter(llm, max_characters=200), documents)
    assert len(made) == 101
    assert caplog.text.count("characters; prompts have 200 of them") == 1
    assert "document '7' has 899 characters" in caplog.text
    windows = Counter[str]()
    for window, chunk in map(read, llm.prompts):
        assert chunk in window
        assert len(window) <= 200 + len("[…]  […]")
        windows[window] += 1
    assert windows.pop("line 000") == 1
    # Neighbours share one: half a window on.
    assert len(windows) == 8
    assert max(windows.values()) <= 2 * 100 / 9 + 1


@pytest.mark.parametrize("most", [2, 3, 7, 10, 50, 99, 100, 101, 1000])
def test_excerpts_hold_the_chunk(most):
    text = "".join(chr(0x4E00 + n) for n in range(100))
    for size in (1, most // 2):
        excerpts = Excerpts(text, most)
        assert excerpts.cuts == (most < 100)
        for start in range(100 - size + 1):
            chunk = text[start : start + size]
            window = excerpts.around(chunk, 0)
            assert chunk in window
            inside = window.removeprefix("[…] ").removesuffix(" […]")
            assert inside in text
            assert len(inside) == min(most, 100)
            assert window.startswith("[…]") == (text[0] != inside[0])
            assert window.endswith("[…]") == (text[-1] != inside[-1])


def test_excerpts_of_what_is_not_in_the_text():
    excerpts = Excerpts("0123456789" * 10, 20)
    assert excerpts.around("no", 0.0).startswith("0123")
    assert excerpts.around("no", 1.0).endswith("6789")
    # One text that occurs ten times: each time further on.
    starts = [excerpts.around("12345", 0) for _ in range(10)]
    assert starts[0].startswith("0")
    assert starts[-1].endswith("9")
    assert len(set(starts)) == 3  # the text repeats itself, and so do those in the middle


def test_a_failure_names_the_document(transform, scripted):
    llm = scripted(
        lambda prompt: ValueError("no") if read(prompt)[1] == "b1" else answer(prompt)
    )
    with pytest.raises(TransformerError, match="call failed for document 'id-b'"):
        transform(splitter(llm), [page("a"), page("b"), page("c")])
    silent = scripted(lambda prompt: "..." if read(prompt)[1] == "b" else answer(prompt))
    with pytest.raises(TransformerError, match="answer for document 'id-b', asked 2 times"):
        transform(splitter(silent), [page("b"), page("c")])


def test_answers_beside_a_failure_are_kept(transform, scripted):
    broken = True
    llm = scripted(
        lambda prompt: (
            ValueError("no") if broken and read(prompt)[1] == "b2" else answer(prompt)
        )
    )
    config = cached() | {"max_concurrency": 1}
    documents = [page("a"), page("b")]
    with pytest.raises(TransformerError):
        transform(splitter(llm), documents, config)
    broken = False
    made = transform(splitter(llm), documents, config)
    assert len(made) == 6
    # Nothing but the failed one was paid for twice.
    counts = Counter(read(prompt)[1] for prompt in llm.prompts)
    assert counts == Counter(["a", "a1", "a2", "b", "b1", "b2", "b2"])


def test_what_fails_in_passing_is_tried_again(transform, scripted):
    failures = iter([TimeoutError(), ConnectionError()])
    llm = scripted(lambda prompt: next(failures, None) or answer(prompt))
    transformer = splitter(llm)
    transformer.retries = Retries(attempts=3, first=0, most=0)
    made = transform(transformer, [page("a", 1)])
    assert made[0].metadata["context"] == "a of a."
    assert len(llm.prompts) == 3


def test_callbacks_and_tags(transform, scripted):
    starts = []

    class Recorder(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, **kwargs):
            starts.append((kwargs["tags"], kwargs["metadata"]["who"]))

    config = {"callbacks": [Recorder()], "tags": ["t"], "metadata": {"who": "me"}}
    transform(splitter(scripted(answer)), [page("a", 2)], config)
    assert starts == [(["t"], "me")] * 2


def test_metadata_of_the_user_is_not_overwritten(transform, scripted):
    llm = scripted(answer)
    with pytest.raises(TransformerError, match="metadata 'context' of document 'id-a'"):
        transform(splitter(llm), [page("a", context="mine")])
    assert llm.prompts == []
    made = transform(splitter(llm, metadata_key="place"), [page("a", 1, context="mine")])
    assert (made[0].metadata["context"], made[0].metadata["place"]) == ("mine", "a of a.")


def test_prompts_of_the_users_own(transform, scripted):
    mark = {"type": "ephemeral"}
    prompt = ChatPromptTemplate.from_messages(
        [
            (
                "human",
                [
                    {"type": "text", "text": "<document>\n{document}", "cache_control": mark},
                    {"type": "text", "text": "\n</document><passage>\n{chunk}\n</passage>"},
                ],
            )
        ]
    )
    blocks = []

    class Recorder(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, **kwargs):
            blocks.append(messages[0][0].content)

    llm = scripted(answer)
    transformer = splitter(llm, prompt=prompt, version="1")
    made = transform(transformer, [page("a", 1)], {"callbacks": [Recorder()]})
    assert made[0].metadata["context"] == "a of a."
    assert blocks[0][0] == {
        "type": "text",
        "text": "<document>\na",
        "cache_control": mark,
    }
    assert transformer.fingerprint is not None
    with pytest.raises(ConfigurationError, match="needs \\['title'\\]"):
        splitter(llm, prompt="{title} {document} {chunk}")


def test_fingerprints(scripted):
    llm = scripted(answer)
    other = CharacterTextSplitter(separator="\n", chunk_size=2, chunk_overlap=0)
    every = {
        "plain": splitter(llm, version="1"),
        "version": splitter(llm, version="2"),
        "splitter": splitter(llm, version="1", splitter=other),
        "prompt": splitter(llm, version="1", prompt="{document} {chunk}"),
        "key": splitter(llm, version="1", metadata_key="place"),
        "follow": splitter(llm, version="1", follow_document=True),
        "most": splitter(llm, version="1", max_characters=100),
    }
    prints = {name: one.fingerprint for name, one in every.items()}
    assert None not in prints.values()
    assert len(set(prints.values())) == len(prints)
    assert splitter(llm, version="1").fingerprint == prints["plain"]
    same = {"splitter", "key", "follow"}
    answers = every["plain"].fingerprint_of_answers
    for name, one in every.items():
        assert (one.fingerprint_of_answers == answers) == (name in {"plain"} | same)
    # A splitter that nothing is known of: answers may be kept, and nothing more is relied on.
    unknown = splitter(
        llm, version="1", splitter=CharacterTextSplitter(length_function=lambda _: 1)
    )
    assert unknown.fingerprint is None
    assert unknown.fingerprint_of_answers == answers
    assert splitter(llm, version=None).fingerprint is None
    assert not reads_metadata(every["plain"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_characters": 1}, "max_characters is 1"),
        ({"document_keys": "source"}, "document_keys is a text"),
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"splitter": "no"}, "'no' is not a document transformer"),
    ],
)
def test_what_cannot_work_is_refused(scripted, options, message):
    with pytest.raises(ConfigurationError, match=message):
        splitter(scripted(answer), **options)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("It is of the start.", "It is of the start."),
        ("Context: It is of the start.", "It is of the start."),
        ("**Sentence:** It is of the start.", "It is of the start."),
        ("Sure! Here is the sentence:\n\nIt is of the start.", "It is of the start."),
        ('"It is of the start."', "It is of the start."),
        ('{"context": "It is of the start."}', "It is of the start."),
        ("It is\nof the start.", "It is of the start."),
        ("The passage itself.\nIt is of the start.", "It is of the start."),
        ("The passage itself.", "The passage itself."),
        ("Context matters here.", "Context matters here."),
        ("<think>Hm</think>", ""),
    ],
)
def test_what_is_usable_in_an_answer(said, found):
    assert sentence_of(said, text="The passage itself.") == found


def test_prefixed_puts_it_in_front(transform, scripted):
    pipeline = splitter(scripted(answer)) | Prefixed(
        CopyDocumentTransformer(), keys=("context",)
    )
    made = transform(pipeline, [page("a", 2)])
    assert [one.page_content for one in made] == ["a of a.\n\na", "a1 of a.\n\na1"]
