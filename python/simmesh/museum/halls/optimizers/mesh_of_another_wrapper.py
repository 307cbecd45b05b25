"""An optimizer that gathered over the wrong mesh.

Dion and Muon need whole matrices, so they gather the shards of a parameter over a mesh that they
are given. FSDP had sharded the parameters over another mesh: with hybrid sharding the one has all
ranks, and the other those of a group. NeMo Automodel passed the first. The optimizer gathered
pieces of replicas as though they were pieces of one matrix, or found the shapes to fit by chance.
It is one argument in a call, and the result is a wrong update on all ranks alike.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def orthogonal(g: torch.Tensor) -> torch.Tensor:
    """The orthogonal factor of a matrix, nearly: Newton and Schulz, five times."""
    x = g / g.square().sum().sqrt()
    for _ in range(5):
        x = 1.5 * x - 0.5 * (x @ x.T @ x)
    return x


class Sharded(nn.Module):
    """A weight whose rows are cut over the dim "shard" and copied over "replicate"."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        shard, whole = mesh["shard"], torch.randn(4, 4)
        self.weight = nn.Parameter(whole.chunk(shard.size())[shard.get_local_rank()].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight)


class Dion(torch.optim.Optimizer):
    def __init__(self, parameters: Any, group: Any) -> None:
        super().__init__(parameters, {})
        self.group = group

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            parts = [torch.empty_like(parameter) for _ in range(dist.get_world_size(self.group))]
            dist.all_gather(parts, parameter.grad, group=self.group)
            update = orthogonal(torch.cat(parts).T).T
            mine = update.split(len(parameter))[dist.get_rank(self.group)]
            parameter.sub_(0.1 * mine)


def train(mesh: DeviceMesh, dim: str) -> None:
    torch.manual_seed(0)
    model = Sharded(mesh)
    mine = X.chunk(mesh["shard"].size(), 1)[mesh["shard"].get_local_rank()]
    (model(X) - mine).square().sum().backward()
    Dion(model.parameters(), mesh[dim].get_group()).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, dim="replicate")


def right(mesh: DeviceMesh) -> None:
    train(mesh, dim="shard")


EXHIBIT = Exhibit(
    title="The optimizer gathers over another mesh",
    source="NVIDIA-NeMo/Automodel PR 2808",
    date="2026-06-27",
    check=SameAsOneDevice(layouts=[{"replicate": 2, "shard": 2}]),
    wrong=wrong,
    right=right,
    at_fault="parameter Sharded.weight",
)
