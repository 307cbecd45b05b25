"""Later epochs that replayed the first.

A stream of data is shuffled anew in each epoch, by the number of the epoch. Torchtitan's loader
stored its place within the epoch and forgot the number. After a restart in the second epoch it
counts from the first again: the same rows in the same order as at the beginning, and rows that were
due are skipped. Four changes in 2026 mended loaders of this kind, one for each way to forget.
Nobody looks at the rows of a long run. The loss of the first step after a restart is another one
than without it, and that is all.
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


def step_of(
    model: nn.Module, rows: torch.Tensor, optimizer: torch.optim.Optimizer, mesh: DeviceMesh
) -> None:
    optimizer.zero_grad()
    (model(rows).square().sum() / 4).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    optimizer.step()


def train(mesh: DeviceMesh, folder: Path, steps: int, saves_epoch: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    file, first, epoch, place = folder / "state.pt", 0, 0, 0
    if file.exists():
        first, weights, epoch, place = torch.load(file)
        model.load_state_dict(weights)
    for _ in range(first, steps):
        order = torch.randperm(len(X), generator=torch.Generator().manual_seed(epoch))
        batch = X[order][place : place + 4]
        step_of(model, batch[rows_of(mesh.get_local_rank(), mesh.size(), 4)], optimizer, mesh)
        place += 4
        if place == len(X):
            epoch, place = epoch + 1, 0
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), epoch if saves_epoch else 0, place), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, saves_epoch=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, saves_epoch=True)


EXHIBIT = Exhibit(
    title="A resumed epoch replays the first",
    source="pytorch/torchtitan PR 3008",
    date="2026-04",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(3, 4)),
    wrong=wrong,
    right=right,
    at_fault="output of Linear, time 4",
)
