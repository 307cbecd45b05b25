"""The command of the wheel is the program: the same output, the same exit status."""

from __future__ import annotations

import subprocess
import sys

PLAN = ["plan", "--mesh", "2x4", "--shape", "16x8", "--from", "S(0),R", "--to", "R,S(1)"]


def simmesh(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m simmesh` with arguments."""
    command = [sys.executable, "-m", "simmesh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_prints_what_the_program_prints() -> None:
    run = simmesh(*PLAN)
    assert run.returncode == 0
    assert run.stdout.startswith("planner: greedy\n")
    assert run.stdout.splitlines()[-1].startswith("cost: ")


def test_refuses_with_the_status_of_the_program() -> None:
    run = simmesh("plan", "--mesh", "2y", "--shape", "4", "--from", "R", "--to", "R")
    assert run.returncode == 2
    assert run.stderr == "simmesh: [tools/plan] --mesh: expected sizes such as 2x4, got '2y'\n"
    assert simmesh("no_such_command").returncode == 2


def test_shows_its_version() -> None:
    import simmesh as package

    assert simmesh("--version").stdout == f"simmesh {package.__version__}\n"
