"""README and `docs/`: the Python blocks run, and the links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
WITH_BLOCKS = [page for page in PAGES if "```python\n" in page.read_text("utf-8")]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name)
def test_the_python_blocks_run(page: Path, tmp_path, monkeypatch) -> None:
    """In order, in one namespace for each page, without a network."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    namespace: dict[str, object] = {"__name__": page.stem}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{name(page)} block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text("utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 200
    assert [page for page in PAGES[1:] if f"({name(page)}" not in text] == []


def test_ci_runs_the_tests_as_the_readme_does() -> None:
    [command] = re.findall(r"^uv (run pytest.*)$", README.read_text("utf-8"), re.MULTILINE)
    assert f"step {command}" in (ROOT / ".ci/run").read_text("utf-8").splitlines()
