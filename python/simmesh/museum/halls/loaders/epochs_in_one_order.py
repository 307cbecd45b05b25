"""Every epoch in the order of the first.

A loader shuffles rows anew in each epoch, if somebody tells it which epoch it is. One that is split
over ranks draws the order from a seed and the number of the epoch. Swift's dispatcher of batches
had no method set_epoch, and the trainer calls it only where there is one. So every epoch had the
order of the first. Neighbours in a batch stay neighbours for ever, and a model can learn the order.
One device, which has a plain loader, shuffles anew in each epoch; the second epoch's outputs
differ.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Dispatcher:
    """Shuffles the rows of an epoch and gives each rank its part of each batch."""

    epoch = 0

    def batches(self, mesh: DeviceMesh) -> list[torch.Tensor]:
        order = torch.randperm(len(X), generator=torch.Generator().manual_seed(self.epoch))
        mine = rows_of(mesh.get_local_rank(), mesh.size(), 4)
        return [batch[mine] for batch in X[order].split(4)]


class WithEpoch(Dispatcher):
    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


def train(mesh: DeviceMesh, loader: Dispatcher) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        if hasattr(loader, "set_epoch"):
            loader.set_epoch(epoch)
        for batch in loader.batches(mesh):
            optimizer.zero_grad()
            (model(batch).square().sum() / 4).backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad, group=mesh.get_group())
            optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, Dispatcher() if mesh.size() > 1 else WithEpoch())


def right(mesh: DeviceMesh) -> None:
    train(mesh, WithEpoch())


EXHIBIT = Exhibit(
    title="Every epoch has the order of the first",
    source="modelscope/ms-swift PR 9902",
    date="2026-08-13",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Linear, time 3",
)
