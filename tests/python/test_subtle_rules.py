"""Further sharding rules of functions, of which one is right and one subtly wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import simmesh
from rule_functions import JUDGED, Judged
from subtle_rule_functions import OPTIONS, SUBTLE

NAMES = [each.name for each in SUBTLE]
EXPECTED_AT_LEAST = 60


def _check(judged: Judged, rule: str) -> Any:
    options = OPTIONS.get(judged.name, {})
    return simmesh.rulecheck(judged.function, rule, judged.inputs, unclaimed=False, **options)


def test_there_are_many_functions() -> None:
    assert len(SUBTLE) >= EXPECTED_AT_LEAST
    assert len(set(NAMES)) == len(NAMES)
    assert not set(NAMES) & {each.name for each in JUDGED}
    assert set(OPTIONS) <= set(NAMES)


@pytest.mark.parametrize("judged", SUBTLE, ids=NAMES)
def test_right_rules_are_confirmed(judged: Judged) -> None:
    """Would fail if the check held something against a function that isn't the rule's fault."""
    check = _check(judged, judged.right)
    assert check.holds, check.text


@pytest.mark.parametrize("judged", SUBTLE, ids=NAMES)
def test_wrong_rules_are_refuted(judged: Judged) -> None:
    """Would fail if a fault went unseen, or were shown on larger inputs than it needs."""
    found = _check(judged, judged.wrong).counter_example
    assert found is not None
    assert found.mesh in ((2,), (3,)), found.text
    assert all(size <= 12 for shape in found.shapes for size in shape), found.text


class _RaisesBackward(torch.autograd.Function):
    """The identity, whose gradient can't be computed for some numbers of rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, refused: list[int]) -> Tensor:
        ctx.refused = refused
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        if gradient.shape[0] in ctx.refused:
            raise RuntimeError(f"no gradient of {gradient.shape[0]} rows")
        return gradient, None


def test_gradients_that_raise_leave_sizes_out() -> None:
    """Would fail if an error in a backward pass ended the check, or confirmed a rule unseen."""

    def without_small(x: Tensor) -> Tensor:
        return _RaisesBackward.apply(x, [0, 1, 2, 3])

    check = simmesh.rulecheck(without_small, "S(1) -> S(1)", ["mn"], unclaimed=False)
    assert not check.holds and not check.refuted and check.refused
    assert "NOT JUDGED" in check.text
    assert "its gradient: RuntimeError: no gradient of 3 rows" in check.text
    assert simmesh.rulecheck(without_small, "S(1) -> S(1)", ["mn"], backward=False)


def test_gradients_that_raise_on_pieces_refute() -> None:
    """Would fail if only the forward pass of ranks were looked at."""

    def without_empty(x: Tensor) -> Tensor:
        return _RaisesBackward.apply(x, [0])

    found = simmesh.rulecheck(without_empty, "S(0) -> S(0)", ["mn"]).counter_example
    assert found is not None
    assert found.problem == "the gradient raises RuntimeError: no gradient of 0 rows"
    assert found.hint.startswith("a piece is empty")
    assert simmesh.rulecheck(
        without_empty, "S(0) -> S(0)", ["mn"], unclaimed=False, pieces=["even", "uneven"]
    )


def test_inputs_without_a_gradient_are_constants() -> None:
    """Would fail if a floating input that PyTorch can't differentiate by kept a rule unjudged."""
    targets = simmesh.RuleInput("m", torch.tensor([0, 3, 1]))

    def loss(weight: Tensor, x: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(x, target, weight, reduction="sum")

    inputs = [(5,), ("m", 5), targets]
    assert simmesh.rulecheck(loss, "R, S(0), S(0) -> P", inputs, unclaimed=False)
    wrong = simmesh.rulecheck(loss, "R, S(0), S(0) -> P(avg)", inputs, unclaimed=False)
    assert wrong.counter_example is not None
