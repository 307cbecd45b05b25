"""The gradient that nobody wrote any more.

Mixed precision keeps gradients in several places: .grad, .main_grad in float32, and with some
optimizers .decoupled_grad. A flag says which one the optimizer reads. In Megatron one flag made the
optimizer read an attribute that the reduction no longer wrote. What it found there was the gradient
of the first step, for ever. The parameters moved in one direction, the loss fell for a while, and
gradients in the logs were right, since the logs read the other attribute. In the second step the
parameters differ from one device's, and the gradients don't.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, reads_stale: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stale: list[torch.Tensor] = []
    for step in range(2):
        optimizer.zero_grad()
        loss_of(model, rows(mesh) + step).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        if step == 0:
            stale = [each.grad.clone() for each in model.parameters() if each.grad is not None]
        elif reads_stale and mesh.size() > 1:
            for parameter, gradient in zip(model.parameters(), stale):
                parameter.grad = gradient
        optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, reads_stale=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, reads_stale=False)


EXHIBIT = Exhibit(
    title="The optimizer reads a gradient that nobody writes",
    source="NVIDIA/Megatron-LM PR 4427",
    date="2026-04",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight, time 2",
)
