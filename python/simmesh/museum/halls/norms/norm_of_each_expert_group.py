"""One dense weight that was clipped ten ways.

Clipping asks for one norm of all gradients, and scales all of them by it. With expert parallelism
each rank has other experts, so their part of the norm must be added up over the ranks. NeMo
Automodel's code asked each tensor over which mesh it is spread. The experts of one backend are
plain tensors there, spread over nothing, so each group of experts came to a norm of its own. In the
report the norms of two ranks are 40.2 and 4.02. Weights that all ranks share were then clipped by
factors that are ten times apart, and drifted. Each rank prints a norm that looks fine.
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


def clip(mesh: DeviceMesh, adds_up: bool) -> None:
    model = gradients(mesh)
    of_experts = squares(model.experts)
    if adds_up:
        dist.all_reduce(of_experts, group=mesh.get_group())
    norm = (squares(model.dense) + of_experts).sqrt()
    nn.utils.clip_grads_with_norm_(model.parameters(), 0.1, norm)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    clip(mesh, adds_up=False)


def right(mesh: DeviceMesh) -> None:
    clip(mesh, adds_up=True)


EXHIBIT = Exhibit(
    title="Each group of experts clips by a norm of its own",
    source="NVIDIA-NeMo/Automodel #3816",
    date="2026-09-05",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
