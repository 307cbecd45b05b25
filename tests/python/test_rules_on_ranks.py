"""Sharding rules of functions that communicate, judged on simulated ranks."""

from __future__ import annotations

import pytest
import torch  # noqa: F401

import simmesh
from rank_rule_functions import COMMUNICATE, Communicates

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
