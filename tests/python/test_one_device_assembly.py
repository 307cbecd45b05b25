"""Whole tensors are made of the pieces that DTensors declare, strided shards among them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.placement_types import _StridedShard

import simmesh
from simmesh.one_device.assembly import NotJudged, whole_of_declared
from simmesh.one_device.snapshot import snapshot_of


def strided(dim: int, split_factor: int) -> Any:
    return _StridedShard(dim, split_factor=split_factor)


DECLARED: dict[str, tuple[tuple[int, ...], list[Any]]] = {
    "packed weights": ((2,), [strided(1, 2)]),
    "weights packed along a negative dim": ((2,), [strided(-1, 3)]),
    "one dim cut twice": ((2, 2), [Shard(0), Shard(0)]),
    "FSDP over TP": ((2, 2), [strided(0, 2), Shard(0)]),
    "FSDP over packed TP": ((2, 2), [Shard(0), strided(1, 2)]),
    "FSDP and CP over TP": ((2, 2, 2), [strided(1, 4), strided(1, 2), Shard(1)]),
    "blocks behind another dim": ((2, 2), [strided(1, 4), Shard(1)]),
    "replicas": ((2, 2), [Replicate(), strided(1, 2)]),
}


def distributed(whole: torch.Tensor, sizes: tuple[int, ...], placements: list[Any]) -> list[Any]:
    """The snapshots of a tensor that ranks distribute."""
    snapshots: dict[int, Any] = {}

    def program() -> None:
        mesh = init_device_mesh("cpu", sizes)
        snapshots[dist.get_rank()] = snapshot_of(distribute_tensor(whole, mesh, placements))

    ran = simmesh.spmd_run(program, world_size=math.prod(sizes))
    assert ran.outcome.ok, ran.outcome.report
    return [snapshots[rank] for rank in sorted(snapshots)]


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("shape", [(4, 24), (8, 48)])
def test_whole_of_pieces_is_what_was_distributed(name: str, shape: tuple[int, int]) -> None:
    """Would fail if the pieces of a strided shard were put in another order than they were cut."""
    sizes, placements = DECLARED[name]
    whole = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)
    for each in whole_of_declared(distributed(whole, sizes, placements)):
        assert each is not None
        assert torch.equal(each.elements, whole)


def test_blocks_that_no_dim_makes_are_not_judged() -> None:
    """Would fail if a split factor that doesn't fit the mesh were taken for another."""
    snapshots = distributed(torch.ones(6), (2, 2), [strided(0, 3), Shard(0)])
    with pytest.raises(NotJudged, match="strided shard of 3 blocks"):
        whole_of_declared(snapshots)
