"""Gradients that were cleared between micro-batches.

Accumulation adds up the gradients of several micro-batches before a step. The call that clears them
belongs before the first. In one of torchtitan's loops it stood inside of the loop, so each micro-
batch cleared what the one before had left. The step then sees the last one. With one micro-batch a
step the loop is right, and that is how it was tested. In this exhibit one device has memory for the
whole batch, and two ranks take two micro-batches each.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh: DeviceMesh, clears_inside: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    fit = len(X) if mesh.size() == 1 else 2  # rows for which a device has memory
    optimizer.zero_grad()
    for part in mine.split(fit):
        if clears_inside:
            optimizer.zero_grad()
        (model(part).square().sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, clears_inside=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, clears_inside=False)


EXHIBIT = Exhibit(
    title="Gradients are cleared between micro-batches",
    source="pytorch/torchtitan PR 3575",
    date="2026-06-08",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
