from pathlib import Path

import pytest

from langchain_rag.cli.settings import DRAFT, FILE, Settings, claim
from langchain_rag.errors import ConfigurationError

LOCAL = Settings(embeddings="wordllama", llm="SmolLM2-135M")


def test_a_new_folder_is_made_and_remembered(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"

    assert claim(folder, LOCAL) is None
    assert claim(folder, LOCAL) == LOCAL


def test_an_interrupted_draft_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / DRAFT).write_text("{")

    assert claim(tmp_path, LOCAL) is None


def test_other_embeddings_are_refused(tmp_path: Path) -> None:
    claim(tmp_path, LOCAL)

    with pytest.raises(ConfigurationError, match="made with the embeddings 'wordllama'"):
        claim(tmp_path, Settings(embeddings="openai:text-embedding-3-small", llm="none"))

    assert claim(tmp_path, LOCAL) == LOCAL


def test_another_llm_is_told(tmp_path: Path) -> None:
    claim(tmp_path, LOCAL)

    assert claim(tmp_path, Settings(embeddings="wordllama", llm="none")) == LOCAL


def test_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")

    with pytest.raises(ConfigurationError, match="has files that are not the demo's"):
        claim(tmp_path, LOCAL)

    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")

    with pytest.raises(ConfigurationError, match="cannot be used"):
        claim(file, LOCAL)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"embeddings": "x"'])
def test_damaged_settings_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)

    with pytest.raises(ConfigurationError, match="is damaged"):
        claim(tmp_path, LOCAL)
