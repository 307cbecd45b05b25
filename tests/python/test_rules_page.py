"""The page about rules: its files run, and print what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401

from repository import ROOT

_BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.S)
EXPECTED_AT_LEAST = 7


def sessions() -> list[tuple[str, str, str, list[str]]]:
    """The name and the text of each file, the command that the page runs, and what it shows."""
    found = []
    name, source = "", ""
    for language, text in _BLOCK.findall((ROOT / "docs" / "rules.md").read_text()):
        lines = text.splitlines()
        if language == "python":
            name, source = lines[0].removeprefix("# "), text
        else:
            found.append((name, source, lines[0].removeprefix("$ "), lines[1:]))
    return found


def matches(page: list[str], printed: list[str]) -> bool:
    """True if the page shows what was printed. A line "..." stands for any lines, and dots within
    a line for any text.
    """
    parts = [
        "(?:.*\n)*" if line == "..." else re.escape(line).replace(re.escape("..."), ".*") + "\n"
        for line in page
    ]
    return re.fullmatch("".join(parts), "\n".join([*printed, ""])) is not None


def test_the_comparison_can_fail() -> None:
    assert matches(["a", "...", "got ..."], ["a", "b", "c", "got 3"])
    assert matches(["a", "..."], ["a", "b"])
    assert not matches(["a", "b"], ["a", "c"])
    assert not matches(["a"], ["a", "b"])


@pytest.mark.parametrize("session", sessions(), ids=[each[0] for each in sessions()])
def test_files_print_what_the_page_shows(
    session: tuple[str, str, str, list[str]], tmp_path: Path
) -> None:
    name, source, command, shown = session
    (tmp_path / name).write_text(source)
    words = shlex.split(command)
    words = words[1:] if words[0] == "python" else ["-m", *words]
    ran = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = [line.rstrip() for line in ran.stdout.splitlines()]
    if command.startswith("pytest"):
        for line in shown[:-1]:
            assert any(matches([line.strip()], [each.strip()]) for each in lines), ran.stdout
        assert lines[-1].startswith(shown[-1])
    else:
        assert matches(shown, lines), ran.stdout + ran.stderr


def test_the_page_has_every_form() -> None:
    assert len(sessions()) >= EXPECTED_AT_LEAST
