"""The last micro-batch that never left its rank.

A training in bfloat16 keeps its gradients in float32, since many small sums in bfloat16 lose
digits. Each micro-batch is added to a float32 buffer when its backward pass is over. At the end of
the last one DeepSpeed's stage 1 reduced the buffer over the ranks, and only then added the last
micro-batch. So this one stayed where it was. All ranks stepped by gradients of their own, a little
apart from each other, and the loss went down as losses do. With four micro-batches a quarter of
the data was never shared. It is seen as soon as one gradient is compared with one device's.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh: DeviceMesh, reduces_early: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    sums = [torch.zeros_like(each) for each in model.parameters()]
    first, last = mine.chunk(2)
    add(model, first, sums)
    if reduces_early:
        reduce(sums, mesh)
    add(model, last, sums)
    if not reduces_early:
        reduce(sums, mesh)
    for parameter, total in zip(model.parameters(), sums):
        parameter.grad = total
    torch.optim.AdamW(model.parameters(), lr=0.1).step()


def add(model: nn.Linear, rows: torch.Tensor, sums: list[torch.Tensor]) -> None:
    (model(rows).square().sum() / len(X)).backward()
    for parameter, total in zip(model.parameters(), sums):
        assert parameter.grad is not None
        total.add_(parameter.grad)
        parameter.grad = None


def reduce(sums: list[torch.Tensor], mesh: DeviceMesh) -> None:
    for total in sums:
        dist.all_reduce(total, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, reduces_early=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, reduces_early=False)


EXHIBIT = Exhibit(
    title="The last micro-batch stays on its rank",
    source="deepspeedai/DeepSpeed PR 7985",
    date="2026-04-28",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
