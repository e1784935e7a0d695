from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from langchain_rag import errors
from langchain_rag._reserved import NODE, TRANSFORMER
from langchain_rag.document_transformers.fingerprint import fingerprint_of
from langchain_rag.document_transformers.nodes import Node, node_of
from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.document_transformers.trees.hierarchical import (
    HierarchicalSplitter,
    estimated_tokens,
)


def words(text):
    return len(text.split())


def letters(text):
    return len(text)


def by_words(*sizes):
    return HierarchicalSplitter(sizes, length_function=words, add_start_index=True)


def place(document) -> Node:
    node = node_of(document.metadata)
    assert node is not None
    return node


def tree(made):
    found = [(one.page_content, place(one)) for one in made]
    return [(text, node.name, node.parents, node.level, node.searched) for text, node in found]


def test_all_levels_come_in_reading_order(transform):
    given = [Document("ab cd ef gh ij", metadata={"source": "a"}), Document("k", id="7")]
    splitter = HierarchicalSplitter((9, 6, 3), length_function=letters, add_start_index=True)
    made = transform(splitter, given)
    assert tree(made) == [
        ("ab cd ef", "0", (), 2, False),
        ("ab cd", "0.0", ("0",), 1, False),
        ("ab", "0.0.0", ("0.0",), 0, True),
        ("cd", "0.0.1", ("0.0",), 0, True),
        ("ef", "0.1", ("0",), 0, True),
        ("gh ij", "1", (), 1, False),
        ("gh", "1.0", ("1",), 0, True),
        ("ij", "1.1", ("1",), 0, True),
        ("k", "0", (), 0, True),
    ]
    assert [one.metadata["start_index"] for one in made] == [0, 0, 0, 3, 6, 9, 9, 12, 0]
    assert [one.metadata.get("source") for one in made] == ["a"] * 8 + [None]
    assert {one.metadata[TRANSFORMER] for one in made} == {"HierarchicalSplitter"}
    assert given[0].metadata == {"source": "a"}


def test_a_blank_document_has_no_pieces(transform):
    assert transform(HierarchicalSplitter(), [Document(" \n ")]) == []


class Split(BaseDocumentTransformer):
    """Cuts at a character, and keeps what stands around it; drops what is on a list."""

    def __init__(self, at, dropped=()):
        self.at, self.dropped = at, dropped

    def transform_documents(self, documents, **kwargs):
        return [
            Document(text, metadata={**one.metadata, f"number{self.at}": number})
            for one in documents
            for number, text in enumerate(one.page_content.split(self.at))
            if text not in self.dropped
        ]


def test_any_transformers_can_cut():
    splitter = HierarchicalSplitter(splitters=[Split("/"), Split(",")], add_start_index=True)
    made = splitter.transform_documents([Document("a,a /a,a", metadata={"source": 1})])
    assert tree(made) == [
        ("a,a ", "0", (), 1, False),
        ("a", "0.0", ("0",), 0, True),
        ("a ", "0.1", ("0",), 0, True),
        ("a,a", "1", (), 1, False),
        ("a", "1.0", ("1",), 0, True),
        ("a", "1.1", ("1",), 0, True),
    ]
    assert [one.metadata["start_index"] for one in made] == [0, 0, 2, 5, 5, 7]
    public = [
        {key: value for key, value in one.metadata.items() if key not in {TRANSFORMER, NODE}}
        for one in made[:2]
    ]
    assert public == [
        {"source": 1, "number/": 0, "start_index": 0},
        {"source": 1, "number/": 0, "number,": 0, "start_index": 0},
    ]


def test_sentences_can_be_leaves():
    splitter = HierarchicalSplitter(
        splitters=[Split("/"), SentenceSplitter()], add_start_index=True
    )
    made = splitter.transform_documents([Document("Yes. No. Yes./No.")])
    assert [(one.page_content, one.metadata["start_index"]) for one in made] == [
        ("Yes. No. Yes.", 0),
        ("Yes.", 0),
        ("No.", 5),
        ("Yes.", 9),
        ("No.", 14),
    ]


def test_a_piece_that_is_not_cut_is_kept_once():
    made = by_words(8, 4, 2).transform_documents([Document("a b")])
    assert tree(made) == [("a b", "0", (), 0, True)]
    made = by_words(8, 4, 2).transform_documents([Document("a b\n\nc d")])
    assert tree(made)[0] == ("a b\n\nc d", "0", (), 1, False)


def test_a_piece_of_which_nothing_is_made_is_a_leaf():
    splitter = HierarchicalSplitter(
        splitters=[Split("/"), Split(",", dropped=["b"])], add_start_index=True
    )
    made = splitter.transform_documents([Document("a,c/b")])
    assert tree(made)[-1] == ("b", "1", (), 0, True)


def test_one_child_of_another_text_stays_below():
    splitter = HierarchicalSplitter(
        splitters=[Split("/"), Split(",", dropped=["b"])], add_start_index=True
    )
    made = splitter.transform_documents([Document("a,b")])
    assert tree(made) == [("a,b", "0", (), 1, False), ("a", "0.0", ("0",), 0, True)]


class Shout(BaseDocumentTransformer):
    def transform_documents(self, documents, **kwargs):
        return [Document(one.page_content.upper(), metadata=one.metadata) for one in documents]


def test_what_is_not_found_has_no_offset():
    splitter = HierarchicalSplitter(splitters=[Shout(), Split(",")], add_start_index=True)
    made = splitter.transform_documents([Document("a,b", metadata={"start_index": 99})])
    assert [one.page_content for one in made] == ["A,B", "A", "B"]
    assert not any("start_index" in one.metadata for one in made)


def test_overlapping_pieces_have_their_offsets():
    cut = CharacterTextSplitter(separator=" ", chunk_size=8, chunk_overlap=3)
    made = HierarchicalSplitter(splitters=[cut], add_start_index=True).transform_documents(
        [Document("aa bb cc dd ee")]
    )
    assert [(one.page_content, one.metadata["start_index"]) for one in made] == [
        ("aa bb cc", 0),
        ("cc dd ee", 6),
    ]


def test_a_splitters_own_offset_is_believed_where_it_is_true():
    cut = RecursiveCharacterTextSplitter(chunk_size=2, chunk_overlap=0, add_start_index=True)
    made = HierarchicalSplitter(
        splitters=[Split("/"), cut], add_start_index=True
    ).transform_documents([Document("a/b b b b")])
    assert [one.metadata["start_index"] for one in made] == [0, 2, 2, 4, 6, 8]


TEXTS = st.lists(
    st.sampled_from(["a", "bb", "a b", "ccc", " ", "\n", "\n\n", "x" * 9, "é", "🙂"]),
    max_size=60,
).map("".join)


@given(TEXTS, st.sampled_from([(12, 5, 2), (9, 4), (3,)]))
def test_the_pieces_are_a_tree_that_covers_the_text(text, sizes):
    made = HierarchicalSplitter(
        sizes, length_function=letters, add_start_index=True
    ).transform_documents([Document(text)])
    by_name = {}
    for one in made:
        node = place(one)
        assert node.name not in by_name
        assert all(parent in by_name for parent in node.parents)  # a parent comes first
        by_name[node.name] = (one, node)
    covered: set[int] = set()
    for one, node in by_name.values():
        start = one.metadata["start_index"]
        end = start + len(one.page_content)
        assert text[start:end] == one.page_content
        assert len(one.page_content) <= sizes[len(sizes) - 1 - node.level]
        assert node.searched is (node.level == 0)
        assert node.kind is None
        children = [other for other in by_name.values() if node.name in other[1].parents]
        assert bool(children) is not node.searched
        for parent in node.parents:
            above, above_node = by_name[parent]
            assert above_node.level > node.level
            first = above.metadata["start_index"]
            assert first <= start <= end <= first + len(above.page_content)
        if node.searched:
            covered.update(range(start, end))
    assert all(char.isspace() for place, char in enumerate(text) if place not in covered)
    leaves = [one.metadata["start_index"] for one, node in by_name.values() if node.searched]
    assert all(before < after for before, after in pairwise(leaves))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 0.25), ("four", 1), ("fives", 1.25), ("日本語", 2.25), ("\ud800", 0.75)],
)
def test_the_estimate_counts_bytes(text, tokens):
    assert estimated_tokens(text) == tokens


def test_the_default_sizes_are_estimated_tokens():
    text = "word " * 4000
    made = HierarchicalSplitter().transform_documents([Document(text)])
    most = dict.fromkeys(range(3), 0.0)
    for one in made:
        level = place(one).level
        most[level] = max(most[level], estimated_tokens(one.page_content))
    # The blank at the end of each is cut off.
    assert all(size - 2 < most[level] <= size for level, size in enumerate((128, 512, 2048)))


@pytest.mark.parametrize("sizes", [(), (5, 5), (1, 2), (4, 0), (-1,)])
def test_sizes_must_descend(sizes):
    with pytest.raises(errors.ConfigurationError, match=r"chunk_sizes is .* smaller"):
        HierarchicalSplitter(sizes)


def test_something_must_cut():
    with pytest.raises(errors.ConfigurationError, match="at least one"):
        HierarchicalSplitter(splitters=[])


class Mine(HierarchicalSplitter):
    pass


def recursive(size, **options):
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0, **options)


def test_fingerprint():
    assert by_words(4, 2).fingerprint == fingerprint_of(by_words(4, 2))
    measured = [recursive(9, length_function=lambda text: len(text) + 1)]
    found = [
        by_words(4, 2).fingerprint,
        by_words(4, 3).fingerprint,
        HierarchicalSplitter().fingerprint,
        HierarchicalSplitter((4, 2)).fingerprint,
        HierarchicalSplitter(splitters=[recursive(9), recursive(4)]).fingerprint,
        HierarchicalSplitter(splitters=[recursive(9), recursive(3)]).fingerprint,
        HierarchicalSplitter(splitters=measured, version="1").fingerprint,
        HierarchicalSplitter(splitters=measured, version="2").fingerprint,
        HierarchicalSplitter((4, 2), length_function=lambda text: 1, version="1").fingerprint,
        Mine(version="1").fingerprint,
    ]
    assert None not in found
    assert len(set(found)) == len(found)
    assert HierarchicalSplitter(splitters=measured).fingerprint is None
    assert HierarchicalSplitter(length_function=lambda text: 1).fingerprint is None
    assert Mine().fingerprint is None


def test_metadata_is_read_by_others_only():
    assert HierarchicalSplitter().reads_metadata is False
    assert HierarchicalSplitter(splitters=[recursive(9)]).reads_metadata is False
    assert HierarchicalSplitter(splitters=[Split("/")]).reads_metadata is True
    assert Mine().reads_metadata is True


def test_without_start_index_an_edit_changes_no_metadata_after_it() -> None:
    splitter = HierarchicalSplitter((4, 2), length_function=letters)
    made = splitter.transform_documents([Document("ab cd ef", metadata={"start_index": 7})])
    # The document's own, which says where it is in something larger.
    assert {one.metadata["start_index"] for one in made} == {7}
    made = splitter.transform_documents([Document("ab cd ef")])
    assert not any("start_index" in one.metadata for one in made)
    told = HierarchicalSplitter((4, 2), length_function=letters, add_start_index=True)
    assert told.fingerprint != splitter.fingerprint
