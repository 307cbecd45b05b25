"""Three of four backward passes were lost.

With gradients offloaded to the CPU, ZeRO 1 and 2 keep them in a float32 buffer. A training may call
backward several times before a step, for instance once for each of several losses. DeepSpeed added
the passes up only if the settings named more than one accumulation step. With one such step and
several calls, each call wrote its gradient over that of the call before, so the step saw the last
one alone. ZeRO 3 and trainings without offload were right. The loss still falls, since one pass is
a fair sample of all. open-instruct met the same rule of the boundary in its own training, and
marked the last call by hand (PR 1498).
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


def train(mesh: DeviceMesh, overwrites: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    offloaded = [torch.zeros_like(each) for each in model.parameters()]
    for part in rows(mesh).chunk(2):
        loss_of(model, part).backward()
        if mesh.size() > 1:  # one device offloads nothing
            offload(model, offloaded, mesh, overwrites)
    for parameter, total in zip(model.parameters(), offloaded):
        parameter.grad = total if mesh.size() > 1 else parameter.grad
    optimizer.step()


def offload(
    model: nn.Module, totals: list[torch.Tensor], mesh: DeviceMesh, overwrites: bool
) -> None:
    for parameter, total in zip(model.parameters(), totals):
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh.get_group())
        if overwrites:
            total.zero_()
        total.add_(parameter.grad)
        parameter.grad = None


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, overwrites=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, overwrites=False)


EXHIBIT = Exhibit(
    title="Three of four backward passes are lost",
    source="deepspeedai/DeepSpeed PR 7981",
    date="2026-04-22",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
