"""Do the tests notice small changes? `uv run python -m tests.mutation --count 300`.

Every mutant is run in a process of its own, forked from one that has imported what the package
and its tests need, over a copy of the repository. The tests that reach its line run, cheap ones
first, until one fails; those that start servers do not. What a tier kills goes into
`--results`; a later run, of another tier too, tries the others.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from coverage import CoverageData
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.mutants import Mutant, sample

FILES = [
    "langchain_rag/lifecycle/codec.py",
    "langchain_rag/lifecycle/identity.py",
    "langchain_rag/lifecycle/layout.py",
    "langchain_rag/lifecycle/manifest.py",
    "langchain_rag/lifecycle/plan.py",
    "langchain_rag/search/collapse.py",
]
TIERS = {"everyday": [], "full": ["--full"]}
QUIET = "-q -x -n0 --no-cov -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning"
ALL_PASSED = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
MEMORY = 6 * 2**30
HEAVY = "chromadb langchain_chroma langchain_classic langchain_postgres sqlalchemy.ext.asyncio"
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*cache*", ".coverage*", "__pycache__")


class Reached:
    """Which tests reach a line, and how long they take."""

    def __init__(self, folder: Path) -> None:
        self._data = CoverageData(str(folder / ".coverage"))
        self._data.read()
        self._contexts = functools.cache(self._data.contexts_by_lineno)
        cases = ET.parse(folder / "junit.xml").iter("testcase")
        self._seconds = {
            (case.get("classname"), case.get("name")): float(case.get("time", 0))
            for case in cases
        }

    def seconds(self, test: str) -> float:
        names, bracket, parameters = test.partition("[")
        file, *classes, name = names.split("::")
        where = ".".join([file.removesuffix(".py").replace("/", "."), *classes])
        return self._seconds.get((where, name + bracket + parameters), 1.0)

    def tests(self, mutant: Mutant, budget: float) -> list[str]:
        """The tests that reach a mutant, the likeliest first, as many as the seconds allow."""
        files = [f for f in self._data.measured_files() if f.endswith(f"/{mutant.path}")]
        lines = self._contexts(files[0])
        found: set[str] = set()
        for some in (*mutant.lines, list(lines)):
            found = {test.rpartition("|")[0] for line in some for test in lines.get(line, ())}
            found.discard("")
            if found:
                break
        stem = Path(mutant.path).stem
        ranks: dict[str, tuple[int, int, float]] = {}
        before: Counter[str] = Counter()  # Parameters of one test find out much the same.
        for test in sorted(found, key=lambda test: (self.seconds(test), test)):
            function = test.partition("[")[0]
            ranks[test] = (_rank(test, stem), before[function], self.seconds(test))
            before[function] += 1
        chosen = []
        for test in sorted(ranks, key=ranks.__getitem__):
            budget -= self.seconds(test)
            if budget > 0:
                chosen.append(test)
        return chosen


def _rank(test: str, stem: str) -> int:
    """The module's own tests come first, then the others that are near to it."""
    if f"/test_{stem}.py" in test:
        return 0
    return 1 if test.startswith(("tests/unit", "tests/cases", "langchain_rag")) else 2


class Chosen:
    """A plugin that runs some tests in their order, and says which one has begun."""

    def __init__(self, tests: list[str], say: int, limit: int) -> None:
        self._order = {test: n for n, test in enumerate(tests)}
        self._say, self._limit = say, limit

    def pytest_sessionstart(self) -> None:
        """The same examples for every mutant, and none made smaller."""
        settings.register_profile(
            "mutation",
            settings.default,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("mutation")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [
            item
            for item in items
            if item.nodeid in self._order and not item.get_closest_marker("integration")
        ]
        items[:] = sorted(chosen, key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        os.write(self._say, f"{nodeid}\n".encode())
        signal.alarm(self._limit)


class Trials:
    """Runs tests over mutants, in forks of a process that stands in a copy of the package."""

    def __init__(self, options: list[str], limit: int) -> None:
        self._options, self._limit = options, limit
        self._sound: dict[str, bool] = {}
        self._written = 0

    def killer(self, mutant: Mutant, tests: list[str]) -> str | None:
        """The first of the tests that fails over the mutant, and does not without it."""
        tests = [test for test in tests if self._sound.get(test, True)]
        while failed := self._failed(mutant, tests):
            if failed not in self._sound:
                self._sound[failed] = self._failed(None, [failed]) is None
            if self._sound[failed]:
                return failed
            print(f"left out, since it fails without a mutant: {failed}", flush=True)
            tests.remove(failed)
        return None

    def _failed(self, mutant: Mutant | None, tests: list[str]) -> str | None:
        if not tests:
            return None
        if mutant is None:
            return self._fork(tests)
        before = Path(mutant.path).read_text()
        try:
            self._write(mutant.path, mutant.text)
            return self._fork(tests)
        finally:
            self._write(mutant.path, before)

    def _write(self, path: str, text: str) -> None:
        """Bytecode is recognised by the size of its source and the second of its writing."""
        Path(path).write_text(text)
        self._written += 1
        os.utime(path, (self._written, self._written))

    def _fork(self, tests: list[str]) -> str | None:
        heard, say = os.pipe()
        child = os.fork()
        if not child:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            own = [test for test in tests if "/unit/" in test][:40]
            code = 0
            for some in (own, [test for test in tests if test not in own]):
                if some and code in ALL_PASSED:
                    signal.alarm(10 * self._limit)  # also an import may not end
                    files = dict.fromkeys(test.partition("::")[0] for test in some)
                    arguments = [*files, *QUIET.split(), *self._options]
                    code = pytest.main(arguments, [Chosen(some, say, self._limit)])
            os._exit(code)
        os.close(say)
        with os.fdopen(heard) as lines:
            begun = lines.read().splitlines()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        return None if status in ALL_PASSED else (begun or tests)[-1 if begun else 0]


def traced(folder: Path, options: list[str]) -> Reached:
    """Run the tests once, unless that has been done, to see what they reach."""
    if not (folder / "junit.xml").exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = "-n auto --cov --cov-context=test --cov-fail-under=0 --cov-report= -q"
        report = f"--junitxml={folder / 'junit.xml'}"
        command = [sys.executable, "-m", "pytest", *words.split(), report, *options]
        environment = {**os.environ, "COVERAGE_FILE": str(folder / ".coverage")}
        subprocess.run(command, env=environment, check=False)
    return Reached(folder)


def stand_in_copy(folder: str) -> None:
    """Copy the repository to a folder, and import everything from there."""
    here = str(Path.cwd())
    copy = shutil.copytree(here, f"{folder}/copy", ignore=NOT_COPIED)
    os.chdir(copy)
    os.environ.update(PYTHONPATH=copy, PYTHONDONTWRITEBYTECODE="")
    sys.dont_write_bytecode = False  # or each mutant would compile everything again
    sys.path[:] = [copy, *(path for path in sys.path if path != here)]
    for name in [name for name in sys.modules if name.startswith("tests")]:
        del sys.modules[name]
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in HEAVY.split():
        importlib.import_module(name)
    gc.freeze()  # or each mutant would look through all of them for garbage


def main() -> None:
    """Print what the tests did not notice."""
    parser = argparse.ArgumentParser(prog="tests.mutation", description=__doc__)
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--tests", choices=TIERS, default="everyday")
    parser.add_argument(
        "--reached",
        type=Path,
        default=Path(".mutation_cache"),
        help="a folder: which tests reach what",
    )
    parser.add_argument("--results", type=Path, default=Path(".mutation_cache/results.json"))
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests a mutant")
    parser.add_argument("--limit", type=int, default=30, help="seconds a test; more is a loop")
    given = parser.parse_args()
    options = TIERS[given.tests]
    reached = traced(given.reached.resolve(), options)
    mutants = sample(given.files, given.seed, given.count)
    results_file = given.results.resolve()
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        stand_in_copy(folder)
        trials = Trials(options, given.limit)
        for n, mutant in enumerate(mutants, start=1):
            killers = results.setdefault(f"{mutant.path} {mutant.diff}", {})
            if killers.get(given.tests) or killers.get("everyday"):
                continue
            start = time.monotonic()
            tests = reached.tests(mutant, given.budget)
            tests.sort(key=lambda test: test != killers.get("full"))
            killers[given.tests] = trials.killer(mutant, tests)
            results_file.write_text(json.dumps(results, indent=1))
            seconds = time.monotonic() - start
            said = killers[given.tests] or f"survives {len(tests)} tests"
            print(f"{n} {seconds:.1f} s {mutant.path}:{mutant.line} {said}", flush=True)
    report(mutants, results)


def report(mutants: list[Mutant], results: dict[str, dict[str, str | None]]) -> None:
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        killers = results[f"{mutant.path} {mutant.diff}"]
        tiers = [tier for tier in TIERS if killers.get(tier)]
        only = " only" if "everyday" in killers and "everyday" not in tiers else ""
        kinds[f"killed by {tiers[0]}{only}" if tiers else "survived"].append(mutant)
    for kind, some in kinds.items():
        if kind != "killed by everyday":
            for mutant in some:
                print(f"\n{kind}: {mutant.path}:{mutant.line}\n{mutant.diff}")
    for kind, some in kinds.items():
        print(kind, len(some), dict(Counter(mutant.path for mutant in some)))


if __name__ == "__main__":
    main()
