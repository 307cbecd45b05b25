"""The norm of one buffer, the clipping of another.

With gradients offloaded to the CPU, DeepSpeed has two of each: the reduced one in a buffer of the
CPU, from which the step is made, and the local one on the device. The norm was taken from the
first. The factor was applied to the second. So clipping was computed, logged and done, and the step
never felt it. The day on which a gradient explodes is the day on which that matters. The parameters
after the first step differ from one device's by the whole factor.
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


def train(mesh: DeviceMesh, clips_local: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of(model, rows(mesh)).backward()
    offloaded = []
    for parameter in model.parameters():
        assert parameter.grad is not None
        offloaded.append(parameter.grad.clone())
        dist.all_reduce(offloaded[-1], group=mesh.get_group())
    norm = torch.stack([each.square().sum() for each in offloaded]).sum().sqrt()
    factor = (0.1 / (norm + 1e-6)).clamp(max=1.0)
    for parameter, gradient in zip(model.parameters(), offloaded):
        clipped = parameter.grad if clips_local and mesh.size() > 1 else gradient
        assert clipped is not None
        clipped *= factor
        parameter.grad = gradient
    optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, clips_local=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, clips_local=False)


EXHIBIT = Exhibit(
    title="Other gradients are clipped than those that step",
    source="deepspeedai/DeepSpeed PR 7302",
    date="2025-05-27",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
