"""The README's Python blocks run, in order, in one namespace, without a network."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def test_the_python_blocks_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```", README.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    namespace: dict[str, object] = {"__name__": "readme"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README.md block {number}", "exec"), namespace)


def test_ci_runs_the_tests_as_the_readme_does() -> None:
    [command] = re.findall(r"^uv (run pytest.*)$", README.read_text("utf-8"), re.MULTILINE)
    assert f"step {command}" in (ROOT / ".ci/run").read_text("utf-8").splitlines()
