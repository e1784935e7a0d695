"""A transformer that makes trees of chunks, as a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document
from typing_extensions import override

from langchain_rag.document_transformers.nodes import Node, marked
from langchain_rag.testing.faults import InjectedFault

Grow = Callable[[str], list[tuple[str, Node | None]]]


class ScriptedTree(BaseDocumentTransformer):
    """Makes all levels of a text's tree.

    Attributes:
        grow: Makes the texts and the places from the text of one document.
        seen: Every text that was cut, in order.
        fail_when: Texts for which it fails.
    """

    fingerprint = "tree"

    def __init__(self, grow: Grow, fail_when: Callable[[str], bool] | None = None) -> None:
        self.grow = grow
        self.fail_when = fail_when
        self.seen: list[str] = []

    @override
    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        outputs: list[Document] = []
        for document in documents:
            self.seen.append(document.page_content)
            if self.fail_when is not None and self.fail_when(document.page_content):
                msg = f"told to fail for {document.page_content!r}"
                raise InjectedFault(msg)
            for text, node in self.grow(document.page_content):
                output = Document(text, metadata=dict(document.metadata))
                if node is not None:
                    output.metadata["level"] = node.level
                    output = marked(output, node)
                outputs.append(output)
        return outputs

    @override
    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        return self.transform_documents(documents, **kwargs)


def three_levels(text: str) -> list[tuple[str, Node | None]]:
    """A summary above paragraphs that are not searched, and these above their lines.

    Lines are `level 0`, paragraphs (between blank lines) 1, the summary of it all 2: the
    first word of each line.
    """
    paragraphs = text.split("\n\n")
    summary = "about " + " ".join(line.split()[0] for line in text.split("\n") if line)
    made: list[tuple[str, Node | None]] = [
        (summary, Node("top", level=2, kind="summary")),
    ]
    for p, paragraph in enumerate(paragraphs):
        made.append((paragraph, Node(f"p{p}", ("top",), level=1, searched=False)))
        for n, line in enumerate(paragraph.split("\n")):
            made.append((line, Node(f"p{p}.{n}", (f"p{p}",))))
    return made
