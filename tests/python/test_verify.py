"""Recorded cases, run and compared from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import simmesh
from repository import CASES

MESHES = CASES / "pytorch" / "mesh.jsonl"


def test_cases_hold() -> None:
    result = simmesh.verify(MESHES, limit=20)
    assert (result.passed, result.failed, result.ok) == (20, 0, True)
    assert result.by_kind == {"mesh": (20, 0)}
    assert result.failures == []
    assert str(result).endswith("20 passed, 0 failed\n")
    assert repr(result) == "<20 passed, 0 failed>"


def test_cases_are_chosen() -> None:
    redistributions = CASES / "pytorch" / "redistribute.jsonl"
    words: dict[str, Any] = {
        "where": {"mesh.shape": [2, 2], "tensor.dtype": "float32"},
        "limit": 30,
    }
    result = simmesh.verify([redistributions, str(MESHES)], kind="redistribute", **words)
    assert result.by_kind == {"redistribute": (30, 0)}
    again = simmesh.verify([redistributions], schedule="seeded:3", jobs=2, **words)
    assert again.data_hash == result.data_hash
    assert again.schedule_hash != result.schedule_hash
    assert simmesh.verify(MESHES, kind=["mesh", "plan"], id="mesh/*", limit=1).passed == 1


def test_failures_have_messages(tmp_path: Path) -> None:
    case = json.loads((CASES / "pytorch" / "formula.jsonl").read_text().splitlines()[0])
    case["id"] = "broken"
    case["bits"].reverse()
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps(case) + "\n")
    result = simmesh.verify(path)
    assert not result.ok
    (failed,) = result.failures
    assert failed.id == "broken" and failed.place == f"{path}:1"
    assert failed.mismatch_count >= len(failed.mismatches) >= 1
    assert failed.reproduce.startswith("simmesh verify ")


def test_refuses_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        simmesh.verify(tmp_path / "nowhere.jsonl")
    with pytest.raises(ValueError, match="schedule"):
        simmesh.verify(MESHES, schedule="best")
    with pytest.raises(ValueError, match=r"2\.14"):
        simmesh.verify(MESHES, release="2.14")
