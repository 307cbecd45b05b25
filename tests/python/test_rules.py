"""Sharding rules of functions, judged by values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import simmesh
from rule_functions import JUDGED, Judged

NAMES = [each.name for each in JUDGED]
EXPECTED_AT_LEAST = 40


def test_there_are_many_functions() -> None:
    assert len(JUDGED) >= EXPECTED_AT_LEAST
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    "judged", [each for each in JUDGED if each.name != "dropout"], ids=NAMES[:-1]
)
def test_right_rules_are_confirmed(judged: Judged) -> None:
    check = simmesh.rulecheck(judged.function, judged.right, judged.inputs, unclaimed=False)
    assert check.holds, check.text
    assert check.trials > 0


@pytest.mark.parametrize("judged", JUDGED, ids=NAMES)
def test_wrong_rules_are_refuted(judged: Judged) -> None:
    check = simmesh.rulecheck(judged.function, judged.wrong, judged.inputs, unclaimed=False)
    assert not check.holds
    assert check.counter_example is not None
    with pytest.raises(simmesh.RuleRefuted, match="REFUTED"):
        check.check()


def test_letters_are_rows() -> None:
    check = simmesh.rulecheck(torch.matmul, "mk, kn -> mn")
    assert check.holds
    assert (check.covered, check.coverable) == (3, 5)
    assert [str(row) for row in check.unclaimed] == [
        "R, P(sum) -> P(sum)",
        "P(sum), R -> P(sum)",
    ]


def test_counter_example_is_small_and_says_where() -> None:
    found = simmesh.rulecheck(lambda x: x.softmax(1), "S(1) -> S(1)", ["mn"]).counter_example
    assert found is not None
    assert (found.mesh, found.shapes, found.what) == ((2,), ((3, 2),), "output 0")
    assert found.index is not None and found.expected != found.got
    assert "S(1) -> S(1) on a mesh of 2, inputs [3, 2]: output 0[0, 0]: expected" in found.text


class _Twice(torch.autograd.Function):
    """Doubles, and forgets that in its gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return gradient.sum() + 0 * gradient, gradient


def test_gradients_are_judged() -> None:
    check = simmesh.rulecheck(_Twice.apply, "S(0), S(0) -> S(0)", ["mn", "mn"])
    assert check.counter_example is not None
    assert check.counter_example.what == "gradient of input 0"
    forward = simmesh.rulecheck(_Twice.apply, "S(0), S(0) -> S(0)", ["mn", "mn"], backward=False)
    assert forward.holds


def test_pairs_of_rows_are_judged_on_two_dims() -> None:
    rows = ["S(0) -> S(0)", "S(1) -> S(1)"]
    check = simmesh.rulecheck(torch.relu, rows, ["mn"], meshes=[(2, 2)], unclaimed=False)
    assert check.holds
    assert check.trials > 4 * 6


def test_whole_numbers_need_no_exact_arithmetic() -> None:
    options: dict[str, Any] = {"values": "whole", "unclaimed": False}
    assert simmesh.rulecheck(torch.matmul, "mk, kn -> mn", **options)
    wrong = simmesh.rulecheck(torch.matmul, "S(1), S(0) -> P(avg)", ["mk", "kn"], **options)
    assert not wrong


def test_sizes_that_the_function_refuses_are_counted() -> None:
    check = simmesh.rulecheck(lambda x: x.amax(0), "S(1) -> S(0)", ["mn"])
    assert check.holds
    check = simmesh.rulecheck(lambda x: x.reshape(-1, 4), "P -> P", [("m", 4)])
    assert check.holds and not check.refused
    check = simmesh.rulecheck(lambda x: x.amax(0), "S(0) -> P(max)", ["mn"])
    assert check.refused


@pytest.mark.parametrize(
    ("rule", "inputs", "text"),
    [
        ("", None, "expected a rule"),
        ("S(0), R", None, "on both sides of '->'"),
        ("S(0), X(1) -> R", None, "got 'X(1)'"),
        ("_S(0,0) -> R", None, "a split factor of at least 1"),
        (["R -> R", "R, R -> R"], None, "the same numbers of inputs and outputs"),
        ("mk, kn -> mx", None, "letters of the inputs in the outputs, got 'x'"),
        ("mm -> m", None, "each letter once"),
        ("S(0) -> S(0)", None, "expected inputs"),
        ("S(0) -> S(0)", ["m", "m"], "expected 1 inputs, as the rule has, got 2"),
        ("S(0) -> S(0)", [(2, -1)], "input 0: expected letters"),
        ("S(0) -> S(0)", [object()], "input 0: expected letters"),
        ("S(0) -> S(0), S(0)", ["m"], "expected 2 outputs, as the rule has, got 1"),
    ],
)
def test_what_is_no_rule_is_refused(rule: Any, inputs: Any, text: str) -> None:
    with pytest.raises(ValueError) as raised:
        simmesh.rulecheck(torch.relu, rule, inputs)
    assert text in str(raised.value)


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="values: expected 'any' or 'whole'"):
        simmesh.rulecheck(torch.relu, "S(0) -> S(0)", ["m"], values="some")
    with pytest.raises(ValueError, match="sizes of a mesh"):
        simmesh.rulecheck(torch.relu, "S(0) -> S(0)", ["m"], meshes=[()])
    with pytest.raises(TypeError, match="a function that returns tensors, got int"):
        simmesh.rulecheck(lambda x: 3, "S(0) -> S(0)", ["m"])


@pytest.mark.simmesh_rule("mk, kn -> mn")
def test_marker_judges_the_returned_function() -> Any:
    return torch.matmul


def test_marker_fails_where_a_rule_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "test_rules.py").write_text(
        """
import pytest, torch

@pytest.mark.simmesh_rule("S(1) -> S(1)", inputs=["mn"])
def test_softmax():
    return lambda x: x.softmax(1)

@pytest.mark.simmesh_rule("S(1) -> S(1)", inputs=["mn"])
def test_nothing():
    return None
"""
    )
    command = [sys.executable, "-m", "pytest", "--color=no", "--rootdir", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert "2 failed" in ran.stdout
    assert "rule of <lambda>: REFUTED" in ran.stdout
    assert "expected a test with the marker simmesh_rule to return" in ran.stdout


def test_kinds_of_pieces_can_be_left_out() -> None:
    """PyTorch's convolution takes no weight without channels."""
    rule, inputs = "R, S(0) -> S(1)", [("b", 2, 4), ("c", 2, 3)]
    assert not simmesh.rulecheck(F.conv1d, rule, inputs)
    assert simmesh.rulecheck(F.conv1d, rule, inputs, pieces=["even"])
    with pytest.raises(ValueError, match="pieces: expected some of even, uneven, few, none"):
        simmesh.rulecheck(F.conv1d, rule, inputs, pieces=["odd"])
