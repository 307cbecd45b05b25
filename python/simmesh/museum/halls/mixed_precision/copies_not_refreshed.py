"""Weights that learned and copies that didn't.

Mixed precision has two sets of weights: float32 ones that the optimizer steps, and copies in 16
bits that compute. After each step the copies must be made anew. Under one setting Megatron's FSDP
left that out. The float32 weights went on, step by step, by gradients of a model that stood still.
Checkpoints have the weights that moved, so an evaluation from a checkpoint shows a model that
nobody trained with. On ranks no copy changed in the step that changes it on one device, and the
finding says just that.
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


def train(mesh: DeviceMesh, refreshes: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2).bfloat16()
    masters = [nn.Parameter(each.detach().float()) for each in model.parameters()]
    optimizer = torch.optim.AdamW(masters, lr=0.1)
    for step in range(2):
        loss_of(model, (rows(mesh) + step).bfloat16()).backward()
        for master, parameter in zip(masters, model.parameters()):
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=mesh.get_group())
            master.grad, parameter.grad = parameter.grad.float(), None
        optimizer.step()
        if refreshes or mesh.size() == 1:
            for master, parameter in zip(masters, model.parameters()):
                parameter.data.copy_(master)


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, refreshes=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, refreshes=True)


EXHIBIT = Exhibit(
    title="Copies of weights are not refreshed",
    source="NVIDIA/Megatron-LM PR 6336",
    date="2026-08-11",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
