"""From what the transformers returned to what has to be written."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK, DOCUMENT, KIND, TRANSFORMER
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle import drafts, plan
from langchain_rag.lifecycle.identity import variation_id
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.records import Variation
from langchain_rag.lifecycle.settings import OnError
from langchain_rag.lifecycle.sources import SourceDocument, check_documents
from langchain_rag.lifecycle.variations import WHOLE_CHUNK, rows_of, set_variations

PRINTS = ("p", "c")


def source(text: str, **metadata: Any) -> SourceDocument:
    (found,) = check_documents([Document(text, metadata=metadata)], ["doc"], None)
    return found


def drafted(
    text: str,
    old: Manifest | None = None,
    chunk_fingerprint: str | None = "c",
    **metadata: Any,
) -> list[drafts.DraftChunk]:
    outputs = [Document(line, metadata=metadata) for line in text.split("|")]
    return drafts.draft_chunks(source(text, **metadata), outputs, "", old, chunk_fingerprint)


def change(
    text: str, old: Manifest | None = None, variations: int = 2, **metadata: Any
) -> plan.Change | None:
    chunks = drafted(text, old, **metadata)
    for chunk in chunks:
        if chunk.before is None:
            content = chunk.record.content
            outputs = [Document(f"{content} {n}") for n in range(variations)]
            set_variations({0: chunk}, {0: outputs}, "Maker")
        elif not chunk.unchanged:
            chunk.keep(
                [
                    Variation("Maker", "Maker", f"{chunk.record.content} {n}", {})
                    for n in range(variations)
                ],
            )
    return plan.change_of(source(text, **metadata), chunks, old, PRINTS)


def new(text: str, **options: Any) -> Manifest:
    found = change(text, **options)
    assert found is not None
    assert found.new is not None
    return found.new


def test_a_new_document() -> None:
    found = change("one|two", page=3)
    assert found is not None
    assert found.new is not None
    assert [chunk.record.content for chunk in found.chunks] == ["one", "two"]
    assert [row.page_content for row in found.rows] == ["one 0", "one 1", "two 0", "two 1"]
    row = found.rows[1]
    key = found.chunks[0].record.key
    assert row.id == variation_id(key, "Maker", 1)
    assert row.metadata == {
        "page": 3,
        TRANSFORMER: "Maker",
        KIND: "Maker",
        CHUNK: key,
        DOCUMENT: "doc",
    }
    assert [r.id for r in found.rows] == [
        i for e in found.new.chunks for i in e.variation_ids()
    ]
    intent = found.intent("w")
    assert found.committed is not None
    assert found.committed.revision == 1
    assert (intent.version, intent.entries) == (found.committed.version, found.new.chunks)
    assert intent.overwrites == ()


def test_nothing_to_do() -> None:
    assert change("one|two", old=new("one|two")) is None
    assert change(" ", old=new(" ")) is None


def test_only_what_changed_is_written() -> None:
    found = change("one|three", old=new("one|two"))
    assert found is not None
    assert [chunk.record.content for chunk in found.chunks] == ["three"]
    assert [row.page_content for row in found.rows] == ["three 0", "three 1"]
    intent = found.intent("w")
    assert len(intent.entries) == 3
    assert intent.overwrites == ()


def test_metadata_is_written_in_place() -> None:
    old = new("one|two")
    found = change("one|two", old=old, page=4)
    assert found is not None
    assert found.new is not None
    assert [chunk.key for chunk in found.new.chunks] == [chunk.key for chunk in old.chunks]
    assert found.rows == []
    assert len(found.relabelled) == 4
    intent = found.intent("w")
    assert set(intent.overwrites) == {entry.key for entry in old.chunks}
    # Each chunk stands there as it was and as it will be.
    assert len(intent.entries) == 4


@pytest.mark.parametrize("prints", [None, "other"])
def test_another_transformer_makes_it_all_anew(prints: str | None) -> None:
    old = new("one|two")
    assert all(chunk.before is None for chunk in drafted("one|two", old, prints))
    assert all(chunk.before is not None for chunk in drafted("one|two", old))


def test_a_chunk_in_doubt_is_written_again_and_keeps_what_was_made_of_it() -> None:
    old = new("one|two")
    doubtful = Manifest(
        **{
            **{name: getattr(old, name) for name in Manifest.__slots__},
            "chunks": tuple(
                type(entry)(entry.key, "" if n else entry.metadata_hash, entry.kinds)
                for n, entry in enumerate(old.chunks)
            ),
        }
    )
    again = drafted("one|two", doubtful)
    assert [chunk.unchanged for chunk in again] == [True, False]
    assert all(chunk.before is not None for chunk in again)


def test_equal_texts_are_chunks_of_their_own() -> None:
    keys = [chunk.record.key for chunk in drafted("one|two|one|one")]
    assert len(set(keys)) == 4
    # The first of them keeps its key when others come and go.
    assert [chunk.record.key for chunk in drafted("one|one")] == [keys[0], keys[2]]


def test_whole() -> None:
    assert drafted("one")[0].record.whole
    assert not drafted("one|two")[0].record.whole
    # Cut to one chunk, but not the text that came.
    trimmed = drafts.draft_chunks(source(" one "), [Document("one")], "", None, "c")
    assert not trimmed[0].record.whole


def test_becoming_whole_rewrites_the_chunk_and_no_row() -> None:
    found = change("one", old=new("one|two"))
    assert found is not None
    assert [chunk.record.whole for chunk in found.chunks] == [True]
    assert found.rows == []
    assert found.chunks[0].variations is None
    assert found.chunks[0].record.fan_out == 2


def test_nothing_of_something_is_an_error() -> None:
    with pytest.raises(TransformerError, match=r"parent_transformer returned nothing .*'doc'"):
        drafts.draft_chunks(source("text"), [Document(" ")], "", None, "c")
    assert drafts.draft_chunks(source(" \n"), [], "", None, "c") == []


def test_variations_without_use_are_an_error() -> None:
    (chunk,) = drafted("one")
    with pytest.raises(TransformerError, match=r"nothing usable for chunk .* 'doc'"):
        set_variations({0: chunk}, {0: [Document(""), Document("\n")]}, "Maker")


def test_variations_are_cleaned_and_told_apart() -> None:
    (chunk,) = drafted("one", page=1)
    outputs = [
        Document("q", metadata={KIND: "questions", TRANSFORMER: "Q", "page": 1}),
        Document("q", metadata={KIND: "questions", TRANSFORMER: "Q", "page": 1}),
        Document("q", metadata={KIND: "copy", TRANSFORMER: "C", "page": 2}),
        Document(" "),
        Document("q", metadata={TRANSFORMER: "Other"}),
        Document("q"),
    ]
    set_variations({0: chunk}, {0: outputs}, "Maker")
    assert chunk.variations is not None
    assert [(v.kind, v.transformer, v.extra) for v in chunk.variations] == [
        ("questions", "Q", {}),
        ("copy", "C", {"page": 2}),
        ("Other", "Other", {}),
        ("Maker", "Maker", {}),
    ]
    assert chunk.record.fan_out == 4
    assert [row.metadata.get("page") for row in rows_of(chunk)] == [1, 2, 1, 1]


def test_a_variation_keeps_a_value_that_only_equals_the_one_of_its_chunk() -> None:
    (chunk,) = drafted("one", flag=1)
    outputs = [Document("a", metadata={"flag": True}), Document("b", metadata={"flag": 2})]
    set_variations({0: chunk}, {0: outputs}, "Maker")
    assert [repr(row.metadata["flag"]) for row in rows_of(chunk)] == ["True", "2"]


@pytest.mark.parametrize("on_error", ["raise", "skip", "copy"])
def test_what_is_blank_need_not_be_storable(on_error: OnError) -> None:
    (chunk,) = drafted("one")
    outputs = [Document(" ", metadata={"bad": object()}), Document("a")]
    assert set_variations({0: chunk}, {0: outputs}, "Maker", on_error=on_error) == {}
    assert [row.page_content for row in rows_of(chunk)] == ["a"]
    assert not chunk.incomplete


def test_the_plain_text_stands_beside_what_others_made_of_a_chunk() -> None:
    (chunk,) = drafted("one")
    outputs = [Document(" ", metadata={"bad": object()}), Document("a", metadata={KIND: "q"})]
    set_variations({0: chunk}, {0: outputs}, "Maker", failed=[0], on_error="copy")
    assert [row.page_content for row in rows_of(chunk)] == ["a", "one"]
    assert chunk.incomplete


def test_without_a_chunk_transformer_the_row_is_the_chunk() -> None:
    (chunk,) = drafted("one")
    set_variations({0: chunk}, {0: [chunk.input]}, None)
    (row,) = rows_of(chunk)
    assert (row.page_content, row.metadata[KIND]) == ("one", WHOLE_CHUNK)
    assert TRANSFORMER not in row.metadata


def test_a_chunk_whose_variations_are_not_known_has_no_rows() -> None:
    (chunk,) = drafted("one")
    assert rows_of(chunk) == []


def test_a_deletion_names_everything() -> None:
    old = new("one|two")
    found = plan.deletion(old)
    intent = found.intent("w")
    assert (found.new, found.chunks, found.rows) == (None, [], [])
    assert (intent.version, intent.entries, intent.overwrites) == (None, old.chunks, ())


def test_another_source_alone_is_a_change() -> None:
    old = new("one")
    moved, _ = (
        check_documents([Document("one")], ["doc"], key)[0] for key in (lambda d: "s", None)
    )
    found = plan.change_of(moved, drafted("one", old), old, PRINTS)
    assert found is not None
    assert (found.chunks, found.rows) == ([], [])
