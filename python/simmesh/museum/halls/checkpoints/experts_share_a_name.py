"""Four ranks wrote one name.

With expert parallelism each rank has experts of its own, and an optimizer whose states belong to
them. The states were saved under the name that the parameter has on its rank. On every rank the
first expert is number 0 there. So all ranks wrote the same names, and the one that came last won.
After a load every rank continues with the momentum of the last rank's experts. The parameters
themselves had global names and were right. Momentum is forgotten after some tens of steps, and so
is the trace of the bug.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Experts(nn.Module):
    """Experts that are added up, of which each rank has a run; rank by rank they are in order."""

    def __init__(self, mesh: DeviceMesh, count: int) -> None:
        super().__init__()
        every = [nn.Linear(4, 2, bias=False) for _ in range(count)]
        mine = range(count)[rows_of(mesh.get_local_rank(), mesh.size(), count)]
        self.experts = nn.ModuleDict({str(index): every[index] for index in mine})
        self.group = mesh.get_group()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [(int(name) + 1) * expert(x).square().sum() for name, expert in self.experts.items()]
        ).sum()


def train(mesh: DeviceMesh, folder: Path, steps: int, is_global: bool) -> None:
    torch.manual_seed(0)
    model = Experts(mesh, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    names = [name if is_global else str(place) for place, name in enumerate(model.experts)]
    first = 0
    for name, own, expert in zip(names, model.experts, model.experts.values()):
        if (folder / f"{own}.pt").exists():
            first, weight = torch.load(folder / f"{own}.pt")
            expert.weight.data.copy_(weight)
            momentum = torch.load(folder / f"momentum.{name}.pt")
            optimizer.state[expert.weight]["momentum_buffer"] = momentum
    for step in range(first, steps):
        optimizer.zero_grad()
        model(X + step).backward()
        optimizer.step()
    for rank in range(mesh.size()):
        if rank == mesh.get_local_rank():
            for name, own, expert in zip(names, model.experts, model.experts.values()):
                torch.save((steps, expert.weight.detach()), folder / f"{own}.pt")
                momentum = optimizer.state[expert.weight]["momentum_buffer"]
                torch.save(momentum, folder / f"momentum.{name}.pt")
        dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, is_global=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, is_global=True)


EXHIBIT = Exhibit(
    title="Several ranks save an expert's states under one name",
    source="NVIDIA-NeMo/Automodel PR 3250",
    date="2026-07-28",
    check=Resumed(layouts=[{"ep": 2}, {"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="momentum_buffer of experts.",
)
