from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.cli.articles import changed, load_articles
from langchain_rag.cli.demo import CHANGED, DELETED, NEW_SENTENCE


def test_there_are_a_dozen_articles_of_several_hundred_words() -> None:
    articles = load_articles()

    assert len(articles) == 12
    for article in articles:
        assert 400 <= len(article.page_content.split()) <= 700, article.metadata
        assert article.page_content.startswith(f"# {article.metadata['title']}\n\n")
        assert article.metadata.keys() == {"source", "title"}
        assert article.metadata["source"].startswith("articles/")
        # No paragraph is longer than a chunk, so that no sentence is cut.
        assert all(len(part) < 1500 for part in article.page_content.split("\n\n"))


def test_each_has_a_source_and_a_title_of_its_own() -> None:
    articles = load_articles()

    assert len({article.metadata["source"] for article in articles}) == len(articles)
    assert len({article.metadata["title"] for article in articles}) == len(articles)


def test_the_default_question_has_an_answer() -> None:
    texts = {article.metadata["source"]: article.page_content for article in load_articles()}

    assert (
        "difference between pure and applied mathematics"
        in texts["articles/pure-and-applied.md"]
    )
    assert {CHANGED, DELETED} <= texts.keys()


def test_a_changed_article_is_another_version_with_one_other_chunk() -> None:
    article = next(one for one in load_articles() if one.metadata["source"] == CHANGED)
    before = article.model_copy(deep=True)

    new = changed(article, NEW_SENTENCE)

    assert article == before
    assert new.metadata == article.metadata
    assert new.metadata is not article.metadata
    splitter = RecursiveCharacterTextSplitter(chunk_size=1500, chunk_overlap=0)
    old_chunks = splitter.split_text(article.page_content)
    new_chunks = splitter.split_text(new.page_content)
    assert len(new_chunks) == len(old_chunks)
    assert len(set(new_chunks) - set(old_chunks)) == 1
