"""The tutorials and guides do what they say: their files are written into a folder, and their
commands print, in order, the lines that the pages show.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from page_sessions import holds_in_order
from repository import ROOT

PAGES = sorted(
    page for folder in ("tutorials", "guides") for page in (ROOT / "docs" / folder).glob("*.md")
)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The blocks that this file doesn't run: docs_test compiles C++, test_ci_examples.py reads YAML, and
# what installs something isn't run.
_BY_OTHERS = ("cpp", "cmake", "yaml", "sh")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each fenced block."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of a block and what they print."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def tools(folder: Path) -> dict[str, str]:
    """The variables with which `simmesh`, `pytest` and `python` are those of this test."""
    own = folder / "tools"
    own.mkdir()
    for name, words in {"simmesh": "-m simmesh", "pytest": "-m pytest", "python": ""}.items():
        tool = own / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        tool.chmod(0o755)
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PATH": f"{own}:{os.environ['PATH']}", "PYTHONPATH": path}


def follow(found: list[tuple[str, str]], folder: Path) -> None:
    """Does what the blocks of a page say, in a folder."""
    environment = tools(folder)
    work = folder / "work"
    work.mkdir()
    (work / "conftest.py").write_text((ROOT / "tests/python/conftest.py").read_text("utf-8"))
    for language, text in found:
        if language in ("python", "toml"):
            name = text.partition("\n")[0].removeprefix("# ")
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text, encoding="utf-8")
        elif language not in _BY_OTHERS:
            assert language == "text", f"a block of {language or 'no language'} isn't run"
            for command, shown in sessions(text):
                output = printed(command, work, environment)
                assert holds_in_order(output, shown) is None, f"$ {command}\n{output}"


def printed(command: str, folder: Path, environment: dict[str, str]) -> str:
    """The output of a command of a shell, on both streams."""
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    ).stdout  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    """Would fail if a reader who follows a page saw something else."""
    if "torch" in page.read_text("utf-8"):
        pytest.importorskip("torch")
    follow(blocks(page), tmp_path)


def test_the_first_screen_of_the_readme_finds_a_bug(tmp_path: Path) -> None:
    """Would fail if the first program that a stranger tries found nothing."""
    pytest.importorskip("torch")
    first = [each for each in blocks(ROOT / "README.md") if each[0] in ("python", "text")][:2]
    assert first[0][1].startswith("# test_loss.py\n")
    follow(first, tmp_path)


def test_what_a_program_in_cpp_prints_is_what_an_example_prints() -> None:
    """Would fail if the tutorial in C++ promised what its example doesn't print."""
    page = ROOT / "docs" / "tutorials" / "strategy_cpp.md"
    shown = [text for language, text in blocks(page) if language == "text"]
    assert len(shown) == 1 and not sessions(shown[0])
    assert shown[0] in (ROOT / "examples" / "own_rule_test.txt").read_text(encoding="utf-8")


def test_pages_have_blocks_that_are_run() -> None:
    """Would fail if blocks were no longer found."""
    assert len(PAGES) == 11
    for page in PAGES:
        if page.name not in ("README.md", "strategy_cpp.md"):
            assert any(sessions(text) for language, text in blocks(page) if language == "text"), (
                page
            )
    assert sessions("$ a b\nc\n$ d\n") == [("a b", "c\n"), ("d", "")]
