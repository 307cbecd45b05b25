"""Two groups of parameters with one name.

An optimizer's groups have settings: a learning rate, weight decay. A checkpoint has them too, and a
load must find for each group of the program the one in the file. Megatron matched them by a key
made of some of the settings. Two groups may have equal ones there and differ in others, for example
in their rate. Then both find the same group in the file, and one of them goes on with the other's
learning rate. Nothing fails, and nothing is printed. The first step after the load is too long or
too short for half of the model.
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


def reduced(model: nn.Module, mesh: DeviceMesh, step: int) -> None:
    """The gradients of all ranks' rows, which are others in each step."""
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))] + step
    (model(mine).square().sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def train(mesh: DeviceMesh, folder: Path, steps: int, by_key: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    groups = [
        {"params": [each], "lr": lr, "weight_decay": 0.1}
        for each, lr in zip(model.parameters(), (0.1, 0.01))
    ]
    optimizer = torch.optim.SGD(groups)
    file, first = folder / "state.pt", 0
    if file.exists():
        first, weights, saved = torch.load(file)
        model.load_state_dict(weights)
        known = {each["weight_decay"]: each for each in saved}
        for index, group in enumerate(optimizer.param_groups):
            found = known[group["weight_decay"]] if by_key else saved[index]
            group["lr"] = found["lr"]
    for step in range(first, steps):
        optimizer.zero_grad()
        reduced(model, mesh, step)
        optimizer.step()
    if mesh.get_local_rank() == 0:
        kept = [
            {"lr": each["lr"], "weight_decay": each["weight_decay"]}
            for each in optimizer.param_groups
        ]
        torch.save((steps, model.state_dict(), kept), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, by_key=True)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, by_key=False)


EXHIBIT = Exhibit(
    title="Two groups of parameters are found by one key",
    source="NVIDIA/Megatron-LM PR 4705",
    date="2026-07-17",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
