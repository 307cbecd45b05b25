"""The test files on the page about Python print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401

from repository import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"```python\n# (\S+)\n(.*?)```\n\n```text\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)


def holds_in_order(output: str, shown: str) -> str | None:
    """The first line of ``shown`` that ``output`` doesn't have behind those before it; ``...`` stands for any text."""
    position = 0
    for line in shown.splitlines():
        pattern = ".*".join(re.escape(part) for part in line.strip().split("..."))
        found = re.compile(pattern).search(output, position)
        if found is None:
            return line
        position = found.end()
    return None


def test_the_page_has_sessions() -> None:
    """Would fail if the sessions were no longer found, and so no longer run."""
    assert len(SESSIONS) == PAGE.count("```python") >= 3


@pytest.mark.parametrize("name, program, command, shown", SESSIONS, ids=[each[0] for each in SESSIONS])
def test_a_file_prints_what_the_page_shows(
    name: str, program: str, command: str, shown: str, tmp_path: Path
) -> None:
    """Would fail if the page promised what a reader doesn't see."""
    (tmp_path / name).write_text(f"# {name}\n{program}", encoding="utf-8")
    (tmp_path / "conftest.py").write_text((ROOT / "tests/python/conftest.py").read_text("utf-8"), "utf-8")
    words = command.split()
    assert words[0] == "pytest"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    output = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
    ).stdout
    assert holds_in_order(output, shown) is None, output


def test_a_line_that_is_missing_is_found() -> None:
    """Would fail if every output fitted the page."""
    assert holds_in_order("a\nb 17 c\n", "a\nb ... c") is None
    assert holds_in_order("a\nc\n", "a\nb ... c") == "b ... c"
    assert holds_in_order("b\na\n", "a\nb") == "b"
