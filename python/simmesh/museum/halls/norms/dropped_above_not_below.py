"""Tokens that were dropped above the line and not below.

A mean has a numerator and a denominator, and both must speak of the same tokens. A loss that drops
some tokens, because a filter says so on each rank, changed the numerator. The denominator was the
number of tokens before the filter, which the ranks had agreed on at the beginning of the step. The
loss comes out too small, and so do the gradients, by a factor that changes from step to step with
the data. Torchtitan found it in 2026. One device in this exhibit counts what it adds.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
IS_KEPT = torch.tensor([1, 1, 0, 1, 1, 1, 0, 1])


def train(mesh: DeviceMesh, counts_dropped: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    mine = rows_of(mesh.get_local_rank(), mesh.size(), len(X))
    losses = model(X[mine]).square().sum(1) * IS_KEPT[mine]
    count = IS_KEPT[mine].sum()
    dist.all_reduce(count, group=mesh.get_group())
    if counts_dropped and mesh.size() > 1:  # the ranks agreed on it before the filter
        count = torch.tensor(len(X))
    (losses.sum() / int(count)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, counts_dropped=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, counts_dropped=False)


EXHIBIT = Exhibit(
    title="Tokens are dropped above the line and not below",
    source="pytorch/torchtitan PR 4174",
    date="2026-08-19",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
