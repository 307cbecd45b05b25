"""An auxiliary loss that grew with the micro-batches.

The loss of the tokens is divided by the number of micro-batches, so that their sum is a mean. A
second loss, which keeps a router balanced or predicts one more token, needs the same. In Megatron
one of them had no such factor. Its weight in the sum grew with the number of micro-batches, so a
run on fewer ranks, which has more micro-batches a rank, trained under another loss. The setting
that says how much the loss counts meant something else in each job.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh: DeviceMesh, is_scaled: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    parts = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))].split(2)
    for part in parts:
        y = model(part)
        main = y.square().mean() / len(parts)
        auxiliary = 0.125 * y.tanh().mean()
        (main + (auxiliary / len(parts) if is_scaled else auxiliary)).backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh.get_group())
        parameter.grad /= mesh.size()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, is_scaled=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, is_scaled=True)


EXHIBIT = Exhibit(
    title="An auxiliary loss grows with the micro-batches",
    source="NVIDIA/Megatron-LM PR 4070",
    date="2026-06-04",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
