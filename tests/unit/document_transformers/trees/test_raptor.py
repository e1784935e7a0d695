"""RAPTOR: a tree of summaries, the same in all forms, and paid for once."""

from __future__ import annotations

import importlib.util
from itertools import pairwise

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings, FakeEmbeddings
from langchain_core.stores import InMemoryByteStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.document_transformers import ByteStoreVariationCache
from langchain_rag.document_transformers.nodes import Node, marked, node_of
from langchain_rag.document_transformers.overseer import OVERSEER, Overseer
from langchain_rag.document_transformers.trees.clustering import SoftClustering
from langchain_rag.document_transformers.trees.raptor import RaptorTransformer
from langchain_rag.document_transformers.trees.summaries import portions_of
from langchain_rag.errors import ConfigurationError, TransformerError
from langchain_rag.testing import ScriptedTransformer
from tests.cases.topics import Colours, context_of, model, page, raptor, reference, splitter

MIXED = (
    "red one",
    "green one",
    "red two",
    "red and green",
    "blue one",
    "green two",
    "blue two",
    "pink alone",
)


def tree_of(made: list[Document]) -> dict[str, tuple[int, set[str]]]:
    """Texts, levels and texts above, as the marks say."""
    nodes = [node_of(one.metadata) for one in made]
    by_name = {node.name: one for node, one in zip(nodes, made, strict=True) if node}
    assert len(by_name) == len(made)
    found = {}
    for node, one in zip(nodes, made, strict=True):
        assert node is not None
        assert node.searched
        assert node.kind == ("summary" if node.level else None)
        assert one.metadata["level"] == node.level
        above = {by_name[parent].page_content for parent in node.parents}
        found[one.page_content] = (node.level, above)
    return found


def test_the_tree_is_that_of_a_plain_computation(transform) -> None:
    llm, embeddings = model(), Colours()
    first = page("a", *MIXED, page=1)
    second = page("b", "blue one", "white one", page=2)
    made = transform(raptor(llm, embeddings), [first, second])
    ours = [one for one in made if one.metadata["source"] == "a"]
    assert tree_of(ours) == reference(MIXED)
    assert tree_of(made[len(ours) :]) == reference(("blue one", "white one"))
    # Three colours and the top; the pink one needs none. Two that have nothing in common: one.
    assert llm.calls == 4 + 1
    # Leaves in reading order, and the documents' metadata on every level.
    assert [one.page_content for one in ours[: len(MIXED)]] == list(MIXED)
    assert {one.metadata["page"] for one in ours} == {1}
    assert first == page("a", *MIXED, page=1)


def test_levels_of_all_documents_are_embedded_together(transform) -> None:
    embeddings = Colours()
    documents = [page(name, *MIXED, f"grey of {name}", "grey") for name in "abc"]
    transform(raptor(model(), embeddings), documents)
    assert embeddings.batches == 2
    assert len(embeddings.documents) == len(set(embeddings.documents))


def test_calls_of_all_documents_run_side_by_side() -> None:
    llm = model(delay=0.05)
    documents = [page(name, f"red {name}", f"red too {name}") for name in "abcdef"]
    raptor(llm).transform_documents(documents, config={"max_concurrency": 4})
    assert llm.calls == 6
    assert llm.peak == 4


@pytest.mark.parametrize("paragraphs", [(), ("red alone",), ("  ", "red alone", "\t")])
def test_one_chunk_has_nothing_above_it(paragraphs) -> None:
    llm, embeddings = model(), Colours()
    made = raptor(llm, embeddings).transform_documents([page("a", *paragraphs)])
    assert [one.page_content for one in made] == [one for one in paragraphs if one.strip()]
    assert [node_of(one.metadata) for one in made] == [Node("0.0")][: len(made)]
    assert (llm.calls, embeddings.batches) == (0, 0)


def test_what_leaves_have_in_common_is_said_of_their_summary() -> None:
    class Sections(ScriptedTransformer):
        def transform_documents(self, documents, **kwargs):
            made = super().transform_documents(documents, **kwargs)
            for n, one in enumerate(made):
                one.metadata = {
                    "source": "a",
                    "start": n,
                    "part": "colours" if "red" in one.page_content else "others",
                    "both": True,
                }
            return made

    llm = model()
    transformer = RaptorTransformer(
        llm, Sections(str.splitlines), Colours(), clustering=raptor(llm)._clustering
    )
    document = Document("red 1\nred 2\ngrey 1\ngrey 2", metadata={"source": "a", "part": "?"})
    made = transformer.transform_documents([document])
    summaries = [
        {key: one.metadata.get(key) for key in ("level", "source", "part", "both", "start")}
        for one in made
        if one.metadata["level"]
    ]
    common = {"source": "a", "both": True, "start": None}
    assert summaries == [
        {"level": 1, "part": "colours", **common},
        {"level": 1, "part": "others", **common},
        {"level": 2, "part": None, **common},
    ]


def test_a_tree_ends_where_it_is_told_to() -> None:
    flat = raptor(model(), max_levels=1).transform_documents([page("a", *MIXED)])
    assert {one.metadata["level"] for one in flat} == {0, 1}
    # Red, green, blue and the pink leaf are four.
    enough = raptor(model(), enough=4).transform_documents([page("a", *MIXED)])
    assert tree_of(enough) == tree_of(flat)
    named = raptor(model(), level_key="height").transform_documents([page("a", *MIXED)])
    assert {one.metadata["height"] for one in named} == {0, 1, 2}
    assert not any("level" in one.metadata for one in named)


def test_no_prompt_passes_the_bound(transform) -> None:
    llm = model()
    paragraphs = [f"red number {n:02} " + "x" * 20 for n in range(20)]
    paragraphs.insert(
        7, "red and long. " + "".join(f"Very long, line {n}. " for n in range(30))
    )
    transformer = raptor(llm, max_length=120)
    made = transform(transformer, [page("a", *paragraphs)])
    assert max(len(context_of(prompt)) for prompt in llm.prompts) <= 120
    everything = "".join(map(context_of, llm.prompts))
    assert all(paragraph in everything for paragraph in paragraphs if len(paragraph) < 100)
    nodes = [node_of(one.metadata) for one in made]
    tops = [node for node in nodes if node and not node.parents]
    assert len(tops) == 1
    assert len(llm.prompts) == len(set(llm.prompts))


def test_an_edit_costs_its_clusters_and_what_is_above_them(transform) -> None:
    cache = ByteStoreVariationCache(InMemoryByteStore())
    config = {"configurable": {"variation_cache": cache}}
    llm = model()
    transformer = raptor(llm)
    transform(transformer, [page("a", *MIXED)], config)
    assert llm.calls == 4
    transform(transformer, [page("a", *MIXED)], config)
    assert llm.calls == 4
    edited = ("red one", "green one", "red two", "red and green", "blue 1", *MIXED[5:])
    made = transform(transformer, [page("a", *edited)], config)
    assert llm.calls == 4 + 2
    assert tree_of(made) == reference(edited)
    # One that is in two clusters.
    both = (*edited[:3], "red & green", *edited[4:])
    made = transform(transformer, [page("a", *both)], config)
    assert llm.calls == 6 + 3
    assert tree_of(made) == reference(both)


def test_a_failing_summary_fails_its_document() -> None:
    llm = model(fail_when=lambda prompt: "green" in prompt)
    documents = [
        Document("red\n\nred too", id="fine"),
        Document("green\n\ngreen too", id="broken"),
    ]
    with pytest.raises(TransformerError, match="'broken'"):
        raptor(llm).transform_documents(documents)


def overseen(overseer):
    return {"configurable": {OVERSEER: overseer}}


def tagged(*documents):
    for number, document in enumerate(documents):
        document.metadata["langchain_rag_lineage"] = str(number)
    return list(documents)


def test_failures_are_noted_where_that_will_do(transform) -> None:
    class Picky(Colours):
        def embed_documents(self, texts):
            if any("grey" in text for text in texts):
                raise ConnectionError("no grey")
            return super().embed_documents(texts)

    llm = model(fail_when=lambda prompt: "green" in prompt)
    overseer = Overseer(tolerant=True)
    documents = tagged(
        page("a", "red 1", "red 2"), page("b", "green 1", "green 2"), page("c", "grey", "grey")
    )
    made = transform(raptor(llm, Picky()), documents, overseen(overseer))
    assert {one.page_content for one in made if one.metadata["source"] == "a"} == set(
        reference(("red 1", "red 2"))
    )
    assert sorted(overseer.troubles) == [1, 2]
    assert "no grey" in str(overseer.troubles[2][0])
    with pytest.raises(TransformerError, match="no grey"):
        transform(raptor(llm, Picky()), documents)


def test_a_dry_run_asks_nobody(transform) -> None:
    llm, embeddings = model(), Colours()
    overseer = Overseer(dry_run=True)
    documents = tagged(page("a", *[f"red {n}" for n in range(23)]))
    transform(raptor(llm, embeddings), documents, overseen(overseer))
    assert (llm.calls, embeddings.batches) == (0, 0)
    # Of 23 chunks 5 clusters, and one of those.
    assert overseer.calls == 6
    assert overseer.tokens > 0


def test_models_that_answer_too_much_are_found_out() -> None:
    llm = model()
    llm.answer = lambda prompt: " ".join(f"word{n}" for n in range(30))
    long = "\n\n".join(f"red {n} " + "x" * 80 for n in range(9))
    transformer = raptor(llm, max_length=200)
    whole = RaptorTransformer(
        llm,
        ScriptedTransformer(lambda text: [text, "red"]),
        Colours(),
        clustering=transformer._clustering,
        max_length=200,
    )
    with pytest.raises(TransformerError, match="Raise max_length"):
        whole.transform_documents([Document(long, id="long")])


class Nameless(Embeddings):
    def embed_documents(self, texts):
        return [[0.0]] * (len(texts) - 1)

    def embed_query(self, text):
        return [0.0]


def test_fingerprints() -> None:
    llm = model()
    same = raptor(llm).fingerprint
    assert same is not None
    assert raptor(model()).fingerprint == same
    others = [
        raptor(llm, prompt="{context} What of it?"),
        raptor(model(model="another")),
        raptor(llm, max_levels=2),
        raptor(llm, enough=3),
        raptor(llm, max_length=500),
        raptor(llm, level_key="height"),
        raptor(llm, version="2"),
        raptor(llm, clustering=SoftClustering(reduction=None)),
        raptor(llm, clustering=SoftClustering(reduction=None, threshold=0.5)),
        RaptorTransformer(
            llm,
            CharacterTextSplitter(chunk_size=7, chunk_overlap=0),
            Colours(),
            clustering=raptor(llm)._clustering,
        ),
    ]
    assert len({same, *(one.fingerprint for one in others)}) == len(others) + 1
    assert raptor(llm, FakeEmbeddings(size=3)).fingerprint is None
    assert raptor(llm, FakeEmbeddings(size=3), version="1").fingerprint is not None
    assert raptor(llm, length=lambda text: 2 * len(text)).fingerprint is None
    assert raptor(llm, length=lambda text: 2 * len(text), version="1").fingerprint is not None
    # What is told of metadata is the splitter's.
    assert not raptor(llm).reads_metadata


def test_what_cannot_work_is_refused(monkeypatch) -> None:
    llm = model()
    for options in (
        {"max_levels": 0},
        {"enough": 0},
        {"max_length": 0},
        {"max_attempts": 0},
        {"prompt": "{text}"},
    ):
        with pytest.raises(ConfigurationError):
            raptor(llm, **options)
    with pytest.raises(ConfigurationError, match="embeddings is a str"):
        raptor(llm, "embeddings")
    with pytest.raises(TransformerError, match="1 vectors for 2 texts"):
        raptor(llm, Nameless(), version="1").transform_documents([page("a", "red", "grey")])
    tree = ScriptedTransformer(str.splitlines)
    tree.transform_documents = lambda documents, **kwargs: [  # type: ignore[method-assign]
        marked(documents[0], Node("top"))
    ]
    with pytest.raises(TransformerError, match="one level of chunks"):
        RaptorTransformer(
            llm, tree, Colours(), clustering=raptor(llm)._clustering
        ).transform_documents([page("a", "red", "grey")])
    missing = {"sklearn", "umap"}
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "langchain_rag.document_transformers.trees.clustering.find_spec",
        lambda name: None if name in missing else found(name),
    )
    monkeypatch.setattr(
        "langchain_rag.document_transformers.trees.clustering.import_module",
        lambda name: (_ for _ in ()).throw(ImportError(name)),
    )
    with pytest.raises(ConfigurationError, match=r"langchain-rag\[raptor\]"):
        RaptorTransformer(llm, splitter(), Colours())


def test_cuts_between_portions_stay_where_an_edit_is_not() -> None:
    texts = [f"paragraph {n} " + "x" * (n * 7 % 50) for n in range(80)]

    def portions(texts):
        found = portions_of(texts, 300, len)
        assert [n for portion in found for n in portion] == list(range(len(texts)))
        for portion in found:
            assert len("\n\n".join(texts[n] for n in portion)) <= 300
        # Each but the last is half full at least.
        for portion, after in pairwise(found):
            assert len("\n\n".join(texts[n] for n in [*portion, after[0]])) > 150
        return {tuple(texts[n] for n in portion) for portion in found}

    before = portions(texts)
    assert len(before) > 10
    changed = []
    for n in range(0, 80, 5):
        edited = [*texts[:n], "inserted " + "y" * 30, *texts[n:]]
        changed.append(len(portions(edited) - before))
    assert sum(changed) / len(changed) < 3
