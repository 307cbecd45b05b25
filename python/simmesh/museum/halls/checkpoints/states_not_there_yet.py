"""The states that were not there yet.

PyTorch's distributed checkpoint loads into what a program has: it walks through the state dict of
the program and reads each name from the file. An optimizer that has made no step has no states. So
its state dict is empty, nothing is read, and the load succeeds. Momentum begins at zero again, and
the first steps after each restart jump. Two reports of PyTorch (#126881, #148252) tell of it. The
functions that came later make the states first. This exhibit calls PyTorch's load in both ways.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def reduced(model: nn.Module, mesh: DeviceMesh, step: int) -> None:
    """The gradients of all ranks' rows, which are others in each step."""
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))] + step
    (model(mine).square().sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def train(mesh: DeviceMesh, folder: Path, steps: int, makes_states: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    first = 0
    if (folder / ".metadata").exists():
        state = {"model": model.state_dict(), "steps": 0}
        if makes_states:
            state["optimizer"] = get_optimizer_state_dict(model, optimizer)
        else:
            state["optimizer"] = optimizer.state_dict()["state"]
        dcp.load(state, checkpoint_id=folder)
        model.load_state_dict(state["model"])
        if makes_states:
            set_optimizer_state_dict(model, optimizer, state["optimizer"])
        first = state["steps"]
    for step in range(first, steps):
        optimizer.zero_grad()
        reduced(model, mesh, step)
        optimizer.step()
    whole = {"model": model.state_dict(), "steps": steps}
    whole["optimizer"] = get_optimizer_state_dict(model, optimizer)
    dcp.save(whole, checkpoint_id=folder)


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, makes_states=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, makes_states=True)


EXHIBIT = Exhibit(
    title="States that are not there yet are not loaded",
    source="pytorch/pytorch #126881, #148252",
    date="2024-05",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="momentum_buffer of Linear.weight",
)
