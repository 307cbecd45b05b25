"""The command of the wheel is the program: the same output, the same exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repository import CASES

PLAN = ["plan", "--mesh", "2x4", "--shape", "16x8", "--from", "S(0),R", "--to", "R,S(1)"]


def simmesh(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m simmesh` with arguments, and with variables of the environment."""
    command = [sys.executable, "-m", "simmesh", *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


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


@pytest.mark.parametrize("names", ["OMPI_COMM_WORLD_{}", "PMI_{}"])
def test_processes_of_mpi_are_refused_once(names: str) -> None:
    """Would fail if each process of mpirun did all the work and printed it."""
    for command in (PLAN, ["museum", "run"]):
        runs = [
            simmesh(*command, **{names.format("SIZE"): "2", names.format("RANK"): rank})
            for rank in ("0", "1")
        ]
        assert [run.returncode for run in runs] == [2, 0]
        assert "expected one process, got 2 of MPI" in runs[0].stderr
        assert "".join(run.stdout for run in runs) + runs[1].stderr == ""
    one = simmesh(*PLAN, **{names.format("SIZE"): "1", names.format("RANK"): "0"})
    assert one.returncode == 0


def test_shards_of_other_commands_are_merged_as_by_the_program(tmp_path: Path) -> None:
    """Would fail if the museum's merge took them."""
    cases = str(CASES / "pytorch" / "formula.jsonl")
    files = [str(tmp_path / number) for number in ("1", "2")]
    for number, file in enumerate(files, 1):
        simmesh("verify", cases, "--shard", f"{number}/2", "--results", file)
    merged = simmesh("merge", *files)
    assert (merged.returncode, merged.stdout) == (0, simmesh("verify", cases).stdout)
    assert simmesh("merge", files[0]).returncode == 2
