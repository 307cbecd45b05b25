"""torch's own distributed tests run unedited: those that passed once must still pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("local", ["plain", "exact"])
def test_each_of_torchs_test_cases(local: str) -> None:
    """Would fail if a harness of torch ran nothing, or lost a failure, a skip or a deadlock."""
    output, outcomes = run_pytest("torch_harness.py", "--simmesh-local", local)
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


def expected_to_pass() -> list[str]:
    """The tests of torch's own that passed once."""
    return (_HERE / "torch_ids.txt").read_text(encoding="utf-8").split()


def test_torchs_collectives_and_ddp() -> None:
    """Would fail if one of torch's tests for gloo that passed on ranks no longer did."""
    output, outcomes = run_pytest("torch_distributed.py", BACKEND="gloo", WORLD_SIZE="3")
    expected = expected_to_pass()
    assert len(expected) >= 73
    lost = [test for test in expected if outcomes.get(test) != "PASSED"]
    assert not lost, f"{lost}\n{output[-4000:]}"


def test_torchs_collectives_and_ddp_with_exact_operators() -> None:
    """Would fail if PyTorch's own code were reported for an access to a buffer under way, or if
    exact operators refused what it calls. Sparse tensors aren't computed exactly.
    """
    output, outcomes = run_pytest(
        "torch_distributed.py", "--simmesh-local", "exact", BACKEND="gloo", WORLD_SIZE="3"
    )
    expected = expected_to_pass()
    lost = [test for test in expected if outcomes.get(test) != "PASSED"]
    assert lost == ["TestDistributed::test_sparse_all_reduce_sum"], f"{lost}\n{output[-4000:]}"
    assert "expected a wait for that operation" not in output


def test_own_programs_are_not_reported() -> None:
    """Would fail if a collective, DTensor or a join were reported that waits as it should."""
    files = [f"test_{each}.py" for each in ("torch_collectives", "dtensor", "work", "joint_calls")]
    output = run_pytest(*files, "--simmesh-local", "exact")[0]
    assert "expected a wait for that operation" not in output
    summary = re.search(r"(\d+) failed, (\d+) passed", output)
    assert summary is not None and int(summary[1]) == 1 and int(summary[2]) > 90, output[-4000:]
    assert "expected an operator that local='exact' computes" in output  # of sparse tensors


def test_exact_operators_see_each_access() -> None:
    """Would fail if the option of the tests above checked nothing."""
    output, outcomes = run_pytest("racy_tests.py", "--simmesh-local", "exact")
    assert outcomes == {"Racy::test_writes_too_early": "FAILED"}
    assert "writes a tensor that allreduce at racy_tests.py:" in output
    assert run_pytest("racy_tests.py")[1] == {"Racy::test_writes_too_early": "PASSED"}
