"""./dev: its lists, its installations, and its work after a stage that failed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from changed_files import ROOT


def bash(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a script that has ./dev's own functions."""
    parts = "".join(f'source "{ROOT}/scripts/{name}.sh"\n' for name in ("versions", "install"))
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", parts + script],
        env={**os.environ, "root": str(ROOT), **environment},
        check=False,
        capture_output=True,
        text=True,
    )


def dev(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "dev", *words], check=False, capture_output=True, text=True)


@pytest.fixture
def fake_tools(tmp_path: Path) -> str:
    """A PATH on which apt-get can install nothing before it has updated its lists."""
    script = """#!/bin/bash
cd "$(dirname "$0")"
case "$* " in
  *" update ") touch updated ;;
  *" install nowhere "*) echo "E: Unable to locate package nowhere"; exit 100 ;;
  *" install "*) [ -e updated ] || { echo "E: held broken packages" >&2; exit 100; } ;;
esac
"""
    for name, text in (("apt-get", script), ("dpkg-query", "#!/bin/sh\nexit 1\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "sudo").symlink_to("/usr/bin/env")
    return f"{tmp_path}:{os.environ['PATH']}"


def test_old_package_lists_are_no_alarm(fake_tools: str) -> None:
    """Would fail if a newcomer's first command printed an error before it succeeds."""
    done = bash("need g++ cmake", PATH=fake_tools)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "dev: installing g++ cmake\n")


def test_a_package_that_is_nowhere_is_an_error(fake_tools: str) -> None:
    """Would fail if the error were hidden together with the false alarm."""
    done = bash("need nowhere", PATH=fake_tools)
    assert done.returncode == 2
    assert "could not install packages: E: Unable to locate package nowhere" in done.stderr


def test_stages_go_on_after_a_failure() -> None:
    """Would fail if a red stage hid those after it, or a green one the red."""
    script = (
        f'source "{ROOT}/scripts/stages.sh"\nstage a true\nstage b false\nstage c true\nsum_up x'
    )
    done = bash(script)
    assert done.returncode == 1
    assert [line.split()[0::3] for line in done.stdout.splitlines()[-3:]] == [
        ["pass", "a"], ["FAIL", "b"], ["pass", "c"],
    ]  # fmt: skip
    assert bash(script.replace("false", "true")).returncode == 0


def test_help_lists_every_subcommand() -> None:
    """Would fail if a subcommand, or a page about it, were missing."""
    text = (ROOT / "dev").read_text()
    (words,) = re.findall(r"^  (run \|.*)\)$", text, re.MULTILINE)
    listed = re.findall(r"^  (\w+)", dev("help").stdout, re.MULTILINE)
    assert set(listed) == {*words.split(" | "), "help"}
    pages = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert [word for word in listed if f"| `./dev {word}" not in pages] == []


@pytest.mark.parametrize(
    "words",
    [("nonsense",), ("test", "--short"), ("lint", "--since"), ("nightly", "x"), ("format", "x")],
)
def test_nonsense_is_refused(words: tuple[str, ...]) -> None:
    """Would fail if a misspelt word were taken for the default, which may run for hours."""
    done = dev(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dev: ") and "expected" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wheel", "/none/python"], "expected interpreters of Python 3.10 or later, got '/none/py"),
        (["wheel", "false"], "expected interpreters of Python 3.10 or later, got 'false'"),
        (["package", "deb"], "package: expected no argument, got 'deb'"),
        (["docs", "--web"], "docs: expected --site or nothing, got '--web'"),
        (["bench", "--fast"], "expected --peers, --write, --scale or a filter, got '--fast'"),
        (["bench", "--write", "sum"], "bench: expected --peers beside --write"),
        (["bench", "--scale", "sum"], "bench: expected no filter after --scale, got 'sum'"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_built(words: list[str], message: str) -> None:
    """Would fail if a long build ended with an error that the first second could tell."""
    done = dev(*words)
    assert done.returncode == 2 and message in done.stderr
