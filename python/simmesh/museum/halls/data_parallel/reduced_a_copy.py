"""The average that nobody used.

DiLoCo lets islands of ranks train by themselves, and averages their changes now and then. Torchft
keeps the changes as gradients, which are DTensors. It took the local part of each, averaged it into
a fresh tensor, set the local part anew, and forgot that the gradient itself still had the old one.
The outer optimizer stepped by the change of its own island. The messages were sent, the logs
counted them, and the islands went their own ways. Two lines cured it.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, sets_gradient: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    before = [each.detach().clone() for each in model.parameters()]
    outer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of(model, X).backward()  # every island has the same rows here
    inner.step()
    for parameter, old in zip(model.parameters(), before):
        parameter.grad = (old - parameter.detach()) / mesh.size()
        average = parameter.grad.clone()
        dist.all_reduce(average, group=mesh.get_group())
        if sets_gradient:
            parameter.grad = average
        parameter.data.copy_(old)
    outer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, sets_gradient=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, sets_gradient=True)


EXHIBIT = Exhibit(
    title="A copy is averaged, and the gradient stays",
    source="meta-pytorch/torchft PR 215",
    date="2025-06-16",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
