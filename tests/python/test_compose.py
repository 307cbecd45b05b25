"""All layouts of a model, run from Python."""

from __future__ import annotations

import json

import pytest

import simmesh
from repository import GATES


def test_layouts_equal_one_device() -> None:
    found = simmesh.compose(GATES / "transformer.toml", ranks=2, without=["context"])
    assert found.ok and found.failed == 0 and found.passed == len(found.layouts) > 5
    assert {layout.ranks for layout in found.layouts} == {2}
    assert all(layout.passed and layout.tensors and layout.peak_bytes for layout in found.layouts)
    assert found.losses and found.reproduce == ""
    assert json.loads(found.to_json())["passed"] == found.passed
    assert str(found).endswith(f"{found.passed} passed, 0 failed\n")


def test_fault_is_found_in_the_smallest_layout() -> None:
    found = simmesh.compose(
        GATES / "transformer.toml",
        ranks=(2, 4),
        only=["fsdp"],
        without=["context"],
        inject=["fsdp+tensor=2"],
        jobs=2,
    )
    failed = [layout for layout in found.layouts if not layout.passed]
    assert failed and all({"fsdp", "tensor"} <= set(layout.forms) for layout in failed)
    assert {layout.smallest for layout in failed} == {"fsdp=2+tensor=2"}
    assert "norm with all others is 2 times" in failed[0].first and failed[0].difference
    assert "fsdp=2+tensor=2" in found.to_html() and "--layout" in found.reproduce


def test_refuses_what_it_cannot_run() -> None:
    with pytest.raises(ValueError, match="expected numbers of ranks"):
        simmesh.compose(GATES / "mlp.toml", ranks=(4, 2))
    with pytest.raises(ValueError, match="expected some of"):
        simmesh.compose(GATES / "mlp.toml", only=["fspd"])
    with pytest.raises(ValueError, match="nowhere"):
        simmesh.compose("nowhere.toml")
