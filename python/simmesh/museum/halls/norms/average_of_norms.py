"""The mean of two norms is no norm.

DeepSpeed's clipping for float32 takes the norm on each rank and averages it over the ranks. That is
right as long as all ranks hold the same parameters. With experts they don't. In the report two
ranks have norms of sqrt(20) and sqrt(100); the norm of both is sqrt(120), which is 10.95, and the
mean is 7.24. So the same gradients are clipped otherwise, by a third, only because of where the
experts live. Squares add up, norms don't. The check compares the norm that clipping uses with one
device's.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Model(nn.Module):
    """A dense layer that all ranks have, and two experts, of which each rank has some."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.mesh, self.dense = mesh, nn.Linear(4, 4)
        every = [nn.Linear(4, 4) for _ in range(2)]
        mine = range(mesh.get_local_rank(), 2, mesh.size())
        self.experts = nn.ModuleDict({str(index): every[index] for index in mine})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, total = torch.tanh(self.dense(x)), torch.zeros(())
        for name, expert in self.experts.items():
            total = total + (int(name) + 1) * expert(x[int(name) :: 2]).square().sum()
        return total / len(X)


def gradients(mesh: DeviceMesh) -> Model:
    torch.manual_seed(0)
    model = Model(mesh)
    model(X).backward()
    for parameter in model.dense.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    return model


def squares(module: nn.Module) -> torch.Tensor:
    return torch.stack([each.grad.square().sum() for each in module.parameters()]).sum()


def clip(mesh: DeviceMesh, averages: bool) -> None:
    model = gradients(mesh)
    if averages:
        norm = (squares(model.dense) + squares(model.experts)).sqrt() / mesh.size()
        dist.all_reduce(norm, group=mesh.get_group())
    else:
        of_experts = squares(model.experts)
        dist.all_reduce(of_experts, group=mesh.get_group())
        norm = (squares(model.dense) + of_experts).sqrt()
    nn.utils.clip_grads_with_norm_(model.parameters(), 0.1, norm)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    clip(mesh, averages=True)


def right(mesh: DeviceMesh) -> None:
    clip(mesh, averages=False)


EXHIBIT = Exhibit(
    title="A norm that is the mean of norms",
    source="deepspeedai/DeepSpeed PR 8478 (#8475)",
    date="2026-09-10",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
