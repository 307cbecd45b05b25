"""The last writer's place in the data.

Accelerate saves the state of a stateful loader into the folder of the checkpoint. Each process
wrote a file, and the file had one name for all. The one that finished last won, and after a load
every process continues from its place. Which one that is depends on the disk. Rows are read twice
and others never. A change of August 2026 gives each rank a file of its own, and falls back to the
old name for old checkpoints.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, Resumed

X = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))


def train(mesh: DeviceMesh, folder: Path, steps: int, by_rank: bool) -> None:
    torch.manual_seed(0)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    model, first, place = nn.Linear(4, 2), 0, rank
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    own = folder / (f"loader.{rank}.bin" if by_rank else "loader.bin")
    if (folder / "model.pt").exists():
        first, weights = torch.load(folder / "model.pt")
        model.load_state_dict(weights)
        place = int(own.read_text())
    for _ in range(first, steps):
        optimizer.zero_grad()
        mine = X[place : place + 8 : ranks]
        model(mine).square().sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        optimizer.step()
        place += 8
    dist.barrier()
    own.write_text(str(place))
    if rank == 0:
        torch.save((steps, model.state_dict()), folder / "model.pt")
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, by_rank=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, by_rank=True)


EXHIBIT = Exhibit(
    title="One file for all loaders' states",
    source="huggingface/accelerate PR 4164",
    date="2026-08-14",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Linear, time 2",
)
