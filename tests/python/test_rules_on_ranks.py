"""Sharding rules of functions that communicate, judged on simulated ranks."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import simmesh
from rank_rule_functions import (
    COMMUNICATE,
    Communicates,
    Group,
    row_parallel,
    row_parallel_wrong,
    summed,
)

NAMES = [each.name for each in COMMUNICATE]
EXPECTED_AT_LEAST = 20


def test_there_are_many_functions() -> None:
    assert len(COMMUNICATE) >= EXPECTED_AT_LEAST
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("each", COMMUNICATE, ids=NAMES)
def test_right_functions_are_confirmed(each: Communicates) -> None:
    """Would fail if ranks got other pieces, or gradients other placements, than a rule says."""
    check = simmesh.rulecheck(each.right, each.rule, each.inputs, **each.options)
    assert check.holds, check.text
    assert check.communicates


@pytest.mark.parametrize("each", COMMUNICATE, ids=NAMES)
def test_wrong_functions_are_refuted(each: Communicates) -> None:
    """Would fail if a fault of a function that communicates went unseen."""
    check = simmesh.rulecheck(each.wrong, each.rule, each.inputs, **each.options)
    assert not check.holds, check.text
    assert check.counter_example is not None
    assert check.counter_example.mesh in ((2,), (3,)), check.text


BATCH, PARALLEL = "S(0), R, R -> S(0)", "S(1), S(1), I -> I"


@pytest.mark.parametrize("rows", [(BATCH, PARALLEL), (PARALLEL, BATCH)])
def test_function_of_a_group_has_rows_of_two_mesh_dims(rows: tuple[str, str]) -> None:
    """Would fail if a claim of two dims gave the group of one dim alone, or ranks of the other dim
    communicated.
    """
    inputs = ["bk", "nk", "n"]
    check = simmesh.rulecheck(row_parallel, "; ".join(rows), inputs)
    assert check.holds and check.communicates, check.text
    wrong = simmesh.rulecheck(row_parallel_wrong, "; ".join(rows), inputs)
    assert wrong.counter_example is not None and wrong.counter_example.mesh == (2, 2)


def test_batch_of_two_dims_needs_its_gradient_added() -> None:
    """Would fail if gradients of the mesh dim without communication weren't terms of a sum."""
    rule = f"S(0), I, I -> S(0); {PARALLEL}"
    check = simmesh.rulecheck(row_parallel, rule, ["bk", "nk", "n"], pieces=["even"])
    assert check.counter_example is not None
    assert check.counter_example.what.startswith("gradient of input")


def relu_of_small(x: torch.Tensor, group: Group) -> torch.Tensor:
    """Another function where no dim has three elements: rows that cut one dim alone don't see."""
    summed(torch.ones(1), group)
    return x.relu() if 3 in x.shape else x.neg()


def test_pairs_of_rows_are_judged_where_one_needs_no_communication() -> None:
    """Would fail if rows on 2x2 were judged along one dim alone."""
    options: dict[str, Any] = {"backward": False, "pieces": ["even", "uneven"]}
    rows = ["S(0) -> S(0)", "S(1) -> S(1)"]
    each = [simmesh.rulecheck(relu_of_small, row, ["mn"], meshes=[(2,)], **options) for row in rows]
    assert all(check.holds for check in each), [check.text for check in each]
    check = simmesh.rulecheck(relu_of_small, rows, ["mn"], **options)
    assert check.counter_example is not None, check.text
    assert check.counter_example.mesh == (2, 2) and len(check.counter_example.rows) == 2
