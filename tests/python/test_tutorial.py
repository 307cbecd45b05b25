"""The files and commands on the pages about Python, exact PyTorch, rules, types and recording print
what the pages show.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401

from page_sessions import holds_in_order
from repository import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
EXACT = (ROOT / "docs" / "exact_pytorch.md").read_text(encoding="utf-8")
RULES = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
TYPED = (ROOT / "docs" / "typed.md").read_text(encoding="utf-8")
RECORDING = (ROOT / "docs" / "record_cases.md").read_text(encoding="utf-8")
PAGES = PAGE + EXACT + RULES + TYPED
SESSIONS = re.findall(
    r"```python\n# (\S+)\n(.*?)```\n\n```text\n\$ (.*?)\n(.*?)```", PAGES, re.DOTALL
)


def test_the_pages_have_sessions() -> None:
    """Would fail if the sessions were no longer found, and so no longer run."""
    assert len(SESSIONS) == PAGES.count("```python") >= 7


@pytest.mark.parametrize(
    ("name", "program", "command", "shown"), SESSIONS, ids=[each[0] for each in SESSIONS]
)
def test_a_file_prints_what_the_page_shows(
    name: str, program: str, command: str, shown: str, tmp_path: Path
) -> None:
    """Would fail if the page promised what a reader doesn't see."""
    (tmp_path / name).write_text(f"# {name}\n{program}", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        (ROOT / "tests/python/conftest.py").read_text("utf-8"), "utf-8"
    )
    for each in f"{command}\n{shown}".split("\n$ "):
        line, _, expected = each.partition("\n")
        output = printed(line, tmp_path)
        assert holds_in_order(output, expected) is None, output


def printed(command: str, folder: Path) -> str:
    """Returns the output of a command in a folder. Raises KeyError for a command that isn't on
    the pages.
    """
    name, *words = command.split()
    words = {"python": [], "pytest": ["-m", "pytest"]}[name] + words
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    ).stdout


def test_the_page_about_recording_prints_what_it_shows(tmp_path: Path) -> None:
    """Would fail if the page promised what a reader doesn't see. Its blocks build on each other."""
    files = re.findall(r"```python\n# (\S+)\n(.*?)```", RECORDING, re.DOTALL)
    commands = re.findall(r"```text\n\$ (.*?)\n(.*?)```", RECORDING, re.DOTALL)
    assert len(files) == RECORDING.count("```python") == 1
    assert len(commands) == RECORDING.count("```text") >= 5
    for name, program in files:
        (tmp_path / name).write_text(program, encoding="utf-8")
    for command, shown in commands:
        output = printed(command, tmp_path)
        assert holds_in_order(output, shown) is None, output


def test_a_line_that_is_missing_is_found() -> None:
    """Would fail if every output fitted the page."""
    assert holds_in_order("a\nb 17 c\n", "a\nb ... c") is None
    assert holds_in_order("a\nc\n", "a\nb ... c") == "b ... c"
    assert holds_in_order("b\na\n", "a\nb") == "b"
