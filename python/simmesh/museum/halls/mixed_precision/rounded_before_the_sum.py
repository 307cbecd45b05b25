"""A sum in float32 of numbers in bfloat16.

Megatron has an option that adds gradients up in float32 over the ranks. Many small numbers add up
badly in bfloat16, so the option is worth its bytes. The weight's gradient came out of the matrix
product in bfloat16, and was widened afterwards. The sum over ranks was then exact, and its terms
had eight bits. The option cost what it costs and gave nothing. No test of a loss sees the
difference; equal bits see it in the first gradient.
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


def train(mesh: DeviceMesh, rounds_terms: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    loss_of(model, rows(mesh)).backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        if rounds_terms and mesh.size() > 1:  # one device has nothing to reduce
            parameter.grad = parameter.grad.bfloat16().float()
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, rounds_terms=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, rounds_terms=False)


EXHIBIT = Exhibit(
    title="Terms are rounded before a sum in float32",
    source="NVIDIA/Megatron-LM PR 6624",
    date="2026-08-18",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
