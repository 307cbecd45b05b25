"""A schedule that began again.

A learning rate rises over the first steps and falls afterwards. That is the business of a
scheduler, which counts. Torchtitan's first checkpoints had the model, the optimizer and the step,
and no scheduler. After a restart the warm-up began anew: the rate fell to almost nothing and rose
again, at every restart. In the curve of the loss it is a small bend. Big jobs restart daily. The
parameters after the first step that follows a load tell it exactly.
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


def train(mesh: DeviceMesh, folder: Path, steps: int, saves_schedule: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=4)
    file, first = folder / "state.pt", 0
    if file.exists():
        first, saved = torch.load(file)
        model.load_state_dict(saved["model"])
        if "schedule" in saved:
            warm_up.load_state_dict(saved["schedule"])
            optimizer.load_state_dict(saved["optimizer"])
    for step in range(first, steps):
        optimizer.zero_grad()
        reduced(model, mesh, step)
        optimizer.step()
        warm_up.step()
    if mesh.get_local_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        if saves_schedule:
            state["schedule"] = warm_up.state_dict()
        torch.save((steps, state), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, saves_schedule=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, saves_schedule=True)


EXHIBIT = Exhibit(
    title="The schedule of the learning rate is not saved",
    source="pytorch/torchtitan commit fd01061a0",
    date="2024-04-25",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(2, 4)),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
