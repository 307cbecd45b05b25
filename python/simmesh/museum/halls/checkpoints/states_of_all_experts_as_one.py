"""States that had lost their first dim.

With expert parallelism a rank holds the first experts or the last ones: the weight of all experts
is cut along its first dim. VeOmni told the checkpoint so for the weight, and not for the
optimizer's states. These were saved as though every rank had the same, so those of one rank stayed.
Whoever loads gets the states of the first experts for all. Shapes fit, since every rank's part has
one shape. The step after the load moves half of the experts by the momentum of others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.tensor import DeviceMesh, DTensor, Shard

from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Experts(nn.Module):
    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        whole, self.mesh = torch.randn(4, 4, 2), mesh
        self.weight = nn.Parameter(whole.chunk(mesh.size())[mesh.get_local_rank()].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        numbers = torch.arange(4.0).chunk(self.mesh.size())[self.mesh.get_local_rank()] + 1
        return ((x @ self.weight).square().sum((1, 2)) * numbers).sum()


def train(mesh: DeviceMesh, folder: Path, steps: int, cuts_states: bool) -> None:
    torch.manual_seed(0)
    model, first = Experts(mesh), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if (folder / ".metadata").exists():
        state = {"weight": cut(model.weight, mesh), "steps": 0}
        state["momentum"] = saved(torch.zeros_like(model.weight), mesh, cuts_states)
        dcp.load(state, checkpoint_id=folder)
        model.weight.data.copy_(cut_of(state["weight"]))
        optimizer.state[model.weight]["momentum_buffer"] = cut_of(state["momentum"])
        first = state["steps"]
    for step in range(first, steps):
        optimizer.zero_grad()
        model(X + step).backward()
        optimizer.step()
    momentum = optimizer.state[model.weight]["momentum_buffer"]
    whole = {"weight": cut(model.weight, mesh), "steps": steps}
    whole["momentum"] = saved(momentum, mesh, cuts_states)
    dcp.save(whole, checkpoint_id=folder)


def saved(momentum: torch.Tensor, mesh: DeviceMesh, cuts: bool) -> torch.Tensor:
    return cut(momentum, mesh) if cuts else momentum.clone()


def cut(local: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
    return DTensor.from_local(local.detach().clone(), mesh, [Shard(0)])


def cut_of(tensor: Any) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, cuts_states=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, cuts_states=True)


EXHIBIT = Exhibit(
    title="Optimizer states are saved without the dim of experts",
    source="ByteDance-Seed/VeOmni PR 228",
    date="2025-11-28",
    check=Resumed(layouts=[{"ep": 2}, {"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="momentum_buffer of Experts.weight",
)
