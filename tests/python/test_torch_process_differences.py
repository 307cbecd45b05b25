"""The list of tests that differ on ranks that are processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from process_differences import DIFFERENCES
from repository import ROOT

TESTS = ROOT / "tests" / "python"

# Rows of a folder with two tests on ranks, of which the second one differs on processes.
CONFTEST = """
import sys

sys.path.insert(0, {tests!r})
from process_differences import Difference, mark

ROWS = {rows}


def pytest_collection_modifyitems(items):
    mark(items, {{key: Difference("for a reason", out) for key, out in ROWS.items()}})
"""
PROGRAMS = """
import simmesh

SEEN = []


def run():
    SEEN.clear()
    simmesh.spmd_run(lambda: SEEN.append(1), world_size=2)
    return len(SEEN)


def test_passes():
    assert run() in (0, 2)


def test_differs():
    assert run() == 2
"""


def outcome_of(tmp_path: Path, rows: dict[str, bool]) -> str:
    """The last line of pytest for rows of that folder: each says whether its test is left out."""
    (tmp_path / "conftest.py").write_text(CONFTEST.format(tests=str(TESTS), rows=rows))
    (tmp_path / "test_ranks.py").write_text(PROGRAMS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--simmesh-seats",
               "processes", str(tmp_path)]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    return re.sub(r" in .*", "", ran.stdout.rstrip().rpartition("\n")[2])


def test_rows_are_held_by_the_run(tmp_path: Path) -> None:
    """Fails if a test without a row may fail, or one that passes keeps its row."""
    differs, passes = "test_ranks.py::test_differs", "test_ranks.py::test_passes"
    assert outcome_of(tmp_path, {differs: False}) == "1 passed, 1 xfailed"
    assert outcome_of(tmp_path, {}) == "1 failed, 1 passed"
    assert outcome_of(tmp_path, {differs: False, passes: False}) == "1 failed, 1 xfailed"
    assert outcome_of(tmp_path, {differs: True}) == "1 passed, 1 skipped"
    assert outcome_of(tmp_path, {"test_ranks.py": True}) == "2 skipped"


def unknown_rows(rows: list[str]) -> list[str]:
    """The rows for which there is no test."""
    unknown = []
    for row in rows:
        file, _, test = row.partition("::")
        path = TESTS / file
        name = test.partition("[")[0]
        known = path.is_file() and (not name or f"def {name}(" in path.read_text(encoding="utf-8"))
        if not known:
            unknown.append(row)
    return unknown


def test_each_row_is_of_a_test() -> None:
    """Fails if a test was renamed and its row stayed, or if this test sees none of that."""
    assert unknown_rows(list(DIFFERENCES)) == []
    wrong = ["test_no_such_file.py", "test_isolation.py::test_no_such_test"]
    assert unknown_rows(wrong) == wrong
