"""Placements are written, read and compared as in C++ and in PyTorch."""

from __future__ import annotations

import pytest

from simmesh import Partial, Placement, Replicate, Shard, StridedShard, parse_placements


@pytest.mark.parametrize(
    ("placement", "text", "python"),
    [
        (Replicate(), "R", "Replicate()"),
        (Shard(1), "S(1)", "Shard(1)"),
        (StridedShard(0, 2), "_S(0,2)", "StridedShard(0, 2)"),
        (Partial(), "P(sum)", 'Partial("sum")'),
        (Partial("max"), "P(max)", 'Partial("max")'),
        (Placement("NormP(2)"), "NormP(2)", 'Placement("NormP(2)")'),
    ],
)
def test_says_what_it_is(placement: Placement, text: str, python: str) -> None:
    assert str(placement) == text
    assert repr(placement) == python
    assert Placement(text) == eval(python) == placement
    assert hash(Placement(text)) == hash(placement)


def test_lists_are_read() -> None:
    assert parse_placements("S(0), R") == (Shard(0), Replicate())
    assert parse_placements("") == ()


def test_differs_from_others() -> None:
    assert Shard(0) != Shard(1)
    assert Shard(0) != "S(0)"
    assert len({Shard(0), Shard(0), Replicate()}) == 2


def test_answers_questions() -> None:
    assert Shard(1).is_shard() and Shard(1).is_shard(1) and not Shard(1).is_shard(0)
    assert Shard(1).dim == 1 and Replicate().dim is None
    assert Partial("avg").reduce_op == "avg" and Shard(0).reduce_op is None
    assert Partial().is_partial() and not Partial().is_partial("max")
    assert (
        Placement("MaskP").is_partial("sum")
        and Placement("NormP(2)").is_partial()
        and not Replicate().is_partial()
    )
    assert StridedShard(0, 4).split_factor == 4 and not StridedShard(0, 4).is_shard()
    assert Replicate().is_replicate()


def test_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="expected R, S"):
        Placement("Q")
    with pytest.raises(ValueError, match="median"):
        Partial("median")
    with pytest.raises(ValueError):
        StridedShard(0, 0)
