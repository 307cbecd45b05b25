"""An average over the wrong ranks.

Under Ulysses the ranks of one group share a sequence, and several groups share the batch. A
gradient has to come together from all of them. VeOmni wrapped the model in DDP with the group of
the sequence, because that was the group at hand where it did so. Each group of sequences then
trained by itself on its own part of the batch. In each group all ranks agree, so a look at two
neighbours shows nothing wrong. Parameters that a rank didn't use made the ranks' messages differ on
top of that.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 4, 2, generator=torch.Generator().manual_seed(1))


def train(mesh: DeviceMesh, over_sequence_alone: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    dp, sp = mesh["dp"], mesh["sp"]
    mine = X[rows_of(dp.get_local_rank(), dp.size(), 4)]
    mine = mine[:, rows_of(sp.get_local_rank(), sp.size(), 4)]
    (model(mine).square().sum() / len(X)).backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=sp.get_group())
        if not over_sequence_alone:
            dist.all_reduce(parameter.grad, group=dp.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, over_sequence_alone=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, over_sequence_alone=False)


EXHIBIT = Exhibit(
    title="Gradients are averaged over the sequence group alone",
    source="ByteDance-Seed/VeOmni PR 1086",
    date="2026-08",
    check=SameAsOneDevice(layouts=[{"dp": 2, "sp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
