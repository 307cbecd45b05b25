"""The step that was meant to do nothing.

An optimizer makes its states in its first step. To load a checkpoint into them they must be there,
so a program takes a step with gradients of zero. Such a step isn't nothing: weight decay shrinks
the weights, and the step counter of Adam goes up by one. After that every correction of the bias is
that of a later step, so the first updates come out too small. Megatron's FSDP did so before it
loaded. Where the loaded values overwrite all of it no harm is done; what isn't loaded keeps it. One
device that makes no such step has other parameters after its first.
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


def train(mesh: DeviceMesh, steps: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    loss_of(model, rows(mesh)).backward()
    gradients = [each.grad for each in model.parameters()]
    if steps and mesh.size() > 1:  # ranks make states for the checkpoint that they load
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
    for parameter, gradient in zip(model.parameters(), gradients):
        assert gradient is not None
        dist.all_reduce(gradient, group=mesh.get_group())
        parameter.grad = gradient
    optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, steps=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, steps=False)


EXHIBIT = Exhibit(
    title="An empty step that decays and counts",
    source="NVIDIA/Megatron-LM PR 5976",
    date="2026-07-30",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="expected 1 optimizer step of Linear.weight",
)
