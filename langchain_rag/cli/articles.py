"""The articles that the demo imports, written for this project."""

from __future__ import annotations

from importlib.resources import files

from langchain_core.documents import Document

__all__ = ["changed", "load_articles"]


def load_articles() -> list[Document]:
    """Return the articles, in the order of their names.

    Returns:
        A document for each, with `source` (such as `articles/algebra.md`) and `title` in its
        metadata.

    Example:
        >>> [article.metadata["title"] for article in load_articles()][:2]
        ['Algebra', 'Mathematics in the Ancient World']
    """
    folder = files("langchain_rag.cli") / "articles"
    found = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".md")),
        key=lambda file: file.name,
    )
    return [_document(file.name, file.read_text(encoding="utf-8")) for file in found]


def changed(article: Document, sentence: str) -> Document:
    """Return a new version of an article, which ends with one more sentence.

    Args:
        article: The article, which stays as it is.
        sentence: The sentence.

    Returns:
        Another document, of the same source.
    """
    return Document(
        page_content=f"{article.page_content.rstrip()} {sentence}\n",
        metadata=dict(article.metadata),
    )


def _document(name: str, text: str) -> Document:
    title = text.split("\n", 1)[0].removeprefix("# ").strip()
    return Document(text, metadata={"source": f"articles/{name}", "title": title})
