"""torch's own distributed tests run unedited: those that passed once must still pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent


def run_pytest(*arguments: str, **variables: str) -> tuple[str, dict[str, str]]:
    """Runs pytest with torch's test cases on ranks; returns its output and each test's outcome."""
    command = [
        sys.executable, "-m", "pytest", "-p", "simmesh.torch_tests", "-p", "no:cacheprovider",
        "-vv", "-rN",
        "--color=no", *arguments,
    ]  # fmt: skip
    environment = {**os.environ, **variables}
    output = subprocess.run(
        command, cwd=_HERE, env=environment, text=True, capture_output=True, check=False
    ).stdout
    line = r"^\S+::(\w+::\w+)(?: <- \S+)? (PASSED|FAILED|ERROR|SKIPPED)"
    found = re.findall(line, output, re.MULTILINE)
    return output, dict(found)


def test_each_of_torchs_test_cases() -> None:
    """Would fail if a harness of torch ran nothing, or lost a failure, a skip or a deadlock."""
    output, outcomes = run_pytest("torch_harness.py")
    assert outcomes == {
        "Continuous::test_passes": "PASSED",
        "Continuous::test_passes_again": "PASSED",
        "Operators::test_passes": "PASSED",
        "Processes::test_deadlocks": "FAILED",
        "Processes::test_fails": "FAILED",
        "Processes::test_passes": "PASSED",
        "Processes::test_skips": "SKIPPED",
        "Processes::test_skips_in_a_rank": "SKIPPED",
        "Tensors::test_passes": "PASSED",
        "Threads::test_fails": "FAILED",
        "Threads::test_passes": "PASSED",
        "Threads::test_skips_in_a_rank": "SKIPPED",
    }
    assert "deadlock" in output
    assert "Expected 6.0 but got 7.0" in output
    assert "ValueError: on purpose" in output


def test_torchs_collectives_and_ddp() -> None:
    """Would fail if one of torch's tests for gloo that passed on ranks no longer did."""
    output, outcomes = run_pytest("torch_distributed.py", BACKEND="gloo", WORLD_SIZE="3")
    expected = (_HERE / "torch_ids.txt").read_text(encoding="utf-8").split()
    assert len(expected) >= 73
    lost = [test for test in expected if outcomes.get(test) != "PASSED"]
    assert not lost, f"{lost}\n{output[-4000:]}"
