"""The second copy that kept the old weights.

ZeRO++ gives each node a second set of shards, so that gathers of the backward pass stay inside of
the node. A step of the optimizer marks the second set as old, and the next forward pass renews it.
Loading weights changed the first set and marked nothing. So after a load the model computed with
what it had been before: random numbers, or the weights of another checkpoint. A user saw that the
first loss after each load was far too high (#7606). After the first step all was well, which is why
it looked like a bad start and nothing else. Report and mend are two months apart.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

WEIGHT = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
X = torch.randn(4, 8, generator=torch.Generator().manual_seed(2))


class Sharded(nn.Module):
    """A weight in shards over all ranks, and again in shards over the ranks of a node."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.mesh = mesh
        self.weight = nn.Parameter(torch.zeros(2, 8))
        whole = torch.randn(2, 8)
        self.primary = whole.chunk(mesh.size(), 1)[mesh.get_rank()].clone()
        self.secondary: torch.Tensor | None = None
        self.renew()

    def renew(self) -> None:
        gpu = self.mesh["gpu"]
        self.secondary = self.gathered(self.primary).chunk(gpu.size(), 1)[gpu.get_local_rank()]

    def gathered(self, shard: torch.Tensor, group: Any = None) -> torch.Tensor:
        shards = [torch.empty_like(shard) for _ in range(dist.get_world_size(group))]
        dist.all_gather(shards, shard.contiguous(), group=group)
        return torch.cat(shards, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert self.secondary is not None
        self.weight.data = self.gathered(self.secondary, self.mesh["gpu"].get_group())
        return F.linear(x, self.weight)


def load(mesh: DeviceMesh, renews: bool) -> None:
    torch.manual_seed(0)
    model = Sharded(mesh)
    model.primary = WEIGHT.chunk(mesh.size(), 1)[mesh.get_rank()].clone()
    if renews or mesh.size() == 1:  # one device has no second copy
        model.renew()
    model(X)


def wrong(mesh: DeviceMesh) -> None:
    load(mesh, renews=False)


def right(mesh: DeviceMesh) -> None:
    load(mesh, renews=True)


EXHIBIT = Exhibit(
    title="A second copy of the shards keeps the old weights",
    source="deepspeedai/DeepSpeed PR 7707",
    date="2025-12-04",
    check=SameAsOneDevice(layouts=[{"node": 2, "gpu": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Sharded",
)
