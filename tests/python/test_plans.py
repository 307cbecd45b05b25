"""Ranks plan redistributions themselves: uneven shards land where a rank's coordinate says."""

from __future__ import annotations

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor._redistribute import use_min_cost_redistribution_plan

import simmesh


@pytest.mark.parametrize("is_graph", [False, True])
def test_uneven_shards_of_one_dim(is_graph: bool) -> None:
    whole = torch.arange(15.0).reshape(5, 3)

    def program() -> tuple[torch.Tensor, torch.Tensor]:
        mesh = init_device_mesh("cpu", (2, 2))
        nested = distribute_tensor(whole, mesh, [Shard(0), Shard(0)])
        return nested.redistribute(
            placements=[Shard(1), Shard(0)]
        ).full_tensor(), nested.full_tensor()

    with use_min_cost_redistribution_plan(is_graph):
        ran = simmesh.spmd_run(program, world_size=4)
    assert ran.outcome.ok, ran.outcome.report
    assert all(torch.equal(result, whole) for results in ran.results for result in results)
