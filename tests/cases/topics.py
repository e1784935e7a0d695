"""Texts about colours: it is plain which belong together, and what is made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.document_transformers.trees.raptor import RaptorTransformer
from langchain_rag.testing import CountingEmbeddings, ScriptedChatModel

COLOURS = ("red", "green", "blue", "grey", "pink", "white")


def said(context: str) -> str:
    """What the model makes of some texts: the colour they are most about, and a mark."""
    colour = max(COLOURS, key=context.count)
    mark = hashlib.sha256(context.encode()).hexdigest()[:12]
    return f"About {colour}, {mark}."


def context_of(prompt: str) -> str:
    """The texts in a prompt."""
    return prompt.removeprefix("Human: ").rpartition("\n\n")[0]


def model(**options) -> ScriptedChatModel:
    return ScriptedChatModel(answer=lambda prompt: said(context_of(prompt)), **options)


class Colours(CountingEmbeddings):
    """How often each colour is named."""

    fingerprint = "colours"

    def vector(self, text: str) -> list[float]:
        counts = [float(text.count(colour)) for colour in COLOURS]
        length = sum(count**2 for count in counts) ** 0.5 or 1.0
        return [count / length for count in counts]


class ByColour:
    """One cluster for each colour; a text that names two is in both."""

    fingerprint = "by colour"

    def clusters(self, vectors: Sequence[Sequence[float]]) -> list[list[int]]:
        columns = zip(*vectors, strict=True)
        found = [[n for n, value in enumerate(column) if value > 0.3] for column in columns]
        return sorted(part for part in found if part)


def splitter() -> CharacterTextSplitter:
    """Cuts at blank lines."""
    return CharacterTextSplitter(separator="\n\n", chunk_size=1, chunk_overlap=0)


def raptor(llm, embeddings=None, **options) -> RaptorTransformer:
    given = {"clustering": ByColour()} | options
    return RaptorTransformer(llm, splitter(), embeddings or Colours(), **given)


def page(name: str, *paragraphs: str, **metadata) -> Document:
    return Document("\n\n".join(paragraphs), metadata={"source": name, **metadata})


def reference(paragraphs: Sequence[str]) -> dict[str, tuple[int, set[str]]]:
    """For each chunk its level, and what is above it: colours first, then all at once."""
    if len(paragraphs) < 2:
        return {paragraph: (0, set()) for paragraph in paragraphs}
    tree: dict[str, tuple[int, set[str]]] = {one: (0, set()) for one in paragraphs}
    by_colour = {
        colour: [one for one in paragraphs if colour in one]
        for colour in COLOURS
        if any(colour in one for one in paragraphs)
    }
    top: list[tuple[int, str]] = []
    for members in by_colour.values():
        first = paragraphs.index(members[0])
        if len(members) == 1:
            shared = any(members[0] in other for other in by_colour.values() if len(other) > 1)
            if not shared:
                top.append((first, members[0]))
            continue
        summary = said("\n\n".join(members))
        tree[summary] = (1, set())
        for member in members:
            tree[member][1].add(summary)
        top.append((first, summary))
    if len(top) == len(paragraphs):  # all alone: one above them all
        top, level = [(0, one) for one in paragraphs], 1
    else:
        level = 2
    if len(top) > 1:
        members = [one for _, one in sorted(top, key=lambda one: one[0])]
        root = said("\n\n".join(members))
        tree[root] = (level, set())
        for member in members:
            tree[member][1].add(root)
    return tree
