"""Tests that run on every rank: they pass, fail with their own error, and are told apart by their
bits.
"""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

import simmesh


@simmesh.spmd(world_size=3, schedules=8)
def test_runs_on_every_rank() -> torch.Tensor:
    """Would fail if ranks had no default group, or one group for all."""
    tensor = torch.full((2,), float(dist.get_rank() + 1))
    dist.all_reduce(tensor)
    assert dist.get_world_size() == 3
    assert tensor.tolist() == [6.0, 6.0]
    return tensor


@pytest.mark.simmesh(world_size=2, schedules=4)
def test_marker_runs_on_every_rank(tmp_path: object) -> None:
    """Would fail if the marker ran the test on the host, or without its fixtures."""
    assert dist.get_world_size() == 2
    assert tmp_path is not None


def test_fixture_returns_the_ranks_results(spmd) -> None:  # type: ignore[no-untyped-def]
    """Would fail if results were in another order than the ranks."""
    assert spmd(lambda: dist.get_rank() * 10, world_size=4, schedules=3).results == [0, 10, 20, 30]


def test_raises_what_a_rank_raises_with_the_report() -> None:
    """Would fail if a rank's exception lost its class or the report of the other ranks."""

    @simmesh.spmd(world_size=2)
    def program() -> None:
        if dist.get_rank() == 1:
            raise KeyError("lost")
        dist.barrier()

    with pytest.raises(KeyError) as raised:
        program()
    if hasattr(raised.value, "__notes__"):
        assert "rank 1" in raised.value.__notes__[0]
        assert "reproduce: pytest 'tests/python/test_spmd.py" in raised.value.__notes__[0]
