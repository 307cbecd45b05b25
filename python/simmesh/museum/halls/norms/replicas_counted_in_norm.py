"""Replicas that were counted once for each rank.

Under tensor parallelism some parameters are cut and some, such as norms, are on every rank. The
norm of all gradients adds squares up over the ranks. The cut ones come together that way, and the
others are counted once for each rank. NeMo RL counted them so. The norm comes out too large, and
clipping is stronger than the setting says, the more so the more ranks there are. A run with tensor
parallelism 8 isn't the run with 1. Nothing differs between ranks, so only one device tells.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Model(nn.Module):
    """A norm that each rank has, and a layer whose columns are cut."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.norm, whole = nn.LayerNorm(4), nn.Linear(4, 4, bias=False)
        mine = whole.weight.detach().chunk(mesh.size())[mesh.get_local_rank()]
        self.weight = nn.Parameter(mine.clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(self.norm(x), self.weight)


def clip(mesh: DeviceMesh, counts_all: bool) -> None:
    torch.manual_seed(0)
    model, group = Model(mesh), mesh.get_group()
    model(X).square().sum().backward()
    for parameter in model.norm.parameters():
        dist.all_reduce(parameter.grad, group=group)
    counted = [model.weight]
    if counts_all or mesh.get_local_rank() == 0:
        counted += model.norm.parameters()
    square = torch.stack([each.grad.square().sum() for each in counted if each.grad is not None])
    total = square.sum()
    dist.all_reduce(total, group=group)
    nn.utils.clip_grads_with_norm_(model.parameters(), 0.1, total.sqrt())
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    clip(mesh, counts_all=True)


def right(mesh: DeviceMesh) -> None:
    clip(mesh, counts_all=False)


EXHIBIT = Exhibit(
    title="Replicated gradients count once for each rank",
    source="NVIDIA-NeMo/RL PR 3788",
    date="2026-08-24",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
