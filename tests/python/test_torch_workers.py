"""Tests on workers of pytest-xdist: none is lost, and one process tells what all have found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from repository import ROOT

pytest.importorskip("xdist")

TESTS = """
import os, pytest, torch, torch.distributed as dist, simmesh

@pytest.mark.parametrize("number", range(4))
@simmesh.spmd(world_size=2, schedules=3)
def test_sums(number):
    dist.all_reduce(torch.ones(1))

@simmesh.spmd(world_size=3, explore="all")
def test_explored():
    if dist.get_rank() > 0:
        dist.send(torch.ones(1), 0)
    else:
        dist.recv(torch.zeros(1))
        dist.recv(torch.zeros(1))

@simmesh.spmd(world_size=2)
def test_hangs():
    if dist.get_rank() == 0:
        dist.barrier()
"""

BLOCKED = """
import os, pytest, torch, torch.distributed as dist, simmesh

@simmesh.spmd(world_size=2, schedules=2, timeout=1)
def test_blocks():
    if dist.get_rank() == 1:
        os.read(os.pipe()[0], 1)
    dist.barrier()

@pytest.mark.parametrize("number", range(3))
def test_after(number):
    assert number != 1
"""


def run(folder: Path, tests: str, *options: str) -> str:
    """The output of the example for tests in a folder."""
    (folder / "test_ranks.py").write_text(tests)
    command = ["bash", str(ROOT / "examples/shards/pytest_xdist.sh"), "-q", "-p",
               "no:cacheprovider", *options, "test_ranks.py"]  # fmt: skip
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout


def test_one_process_tells_what_workers_found(tmp_path: Path) -> None:
    """Fails if findings, pages or what was explored stay in the workers."""
    options = "--numprocesses=2", "--simmesh-findings=found.jsonl", "--simmesh-report=pages"
    output = run(tmp_path, TESTS, *options)
    assert "1 failed, 5 passed" in output
    assert "simmesh: 4 tests: 1 run stands for all schedules" in output
    assert "test_ranks.py::test_explored: 2 classes of equivalent schedules" in output
    assert f"simmesh: report: {Path('pages/test_ranks.py-test_hangs.html')}" in output
    [line] = (tmp_path / "found.jsonl").read_text().splitlines()
    assert json.loads(line)["rule"] == "engine/deadlock"


def test_tests_go_on_after_a_rank_that_blocks(tmp_path: Path) -> None:
    """Fails if a worker leaves out its other tests, or loses how one of them failed."""
    options = "--numprocesses=1", "--simmesh-findings=found.xml"
    output = run(tmp_path, BLOCKED, *options)
    assert "2 failed, 2 passed" in output
    assert "rank 1 has not given up its turn" in output
    assert "assert 1 != 1" in output
    found = (tmp_path / "found.xml").read_text()
    assert re.search(r'tests="4" failures="2"', found)


def test_a_fresh_process_that_ends_early_is_a_failure(tmp_path: Path) -> None:
    """Fails if a test of which no report came counts as nothing."""
    tests = BLOCKED.replace("assert number != 1", "os._exit(3) if number == 1 else None")
    output = run(tmp_path, tests, "--numprocesses=1")
    assert "2 failed, 2 passed" in output
    assert "expected reports of a fresh process, got none and status 3" in output
