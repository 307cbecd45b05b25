"""Gates, run from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import simmesh
from repository import GATES


def test_gate_holds() -> None:
    result = simmesh.run_gate(GATES / "mlp.toml")
    assert result.ok and result.failed == 0 and result.passed == len(result.checks) > 0
    assert all(check.passed for check in result.checks)
    assert result.data_hash != 0 and result.peak_bytes > 0
    assert result.collectives["all_reduce"] > 0
    assert result.losses and result.failure == ""
    assert str(result).endswith(f"{result.passed} passed, 0 failed\n")


def test_schedule_changes_no_data() -> None:
    first = simmesh.run_gate(str(GATES / "mlp.toml"))
    other = simmesh.run_gate(GATES / "mlp.toml", schedule="pct:3", seed=7)
    assert other.data_hash == first.data_hash
    assert other.schedule_hash != first.schedule_hash


def test_failing_gate_says_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "tight.toml"
    path.write_text((GATES / "mlp.toml").read_text() + "peak_bytes_max = 1\n")
    result = simmesh.run_gate(path)
    assert not result.ok
    (failed,) = [check for check in result.checks if not check.passed]
    assert "peak" in failed.name and failed.expected and failed.actual


def test_explains_defaults() -> None:
    assert "[world]" in simmesh.explain_gate(GATES / "mlp.toml")


def test_refuses_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        simmesh.run_gate(tmp_path / "nowhere.toml")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(ValueError):
        simmesh.run_gate(tmp_path / "empty.toml")
