"""All ranks resumed as rank 0.

A loader knows which rows it has given out, and each rank's loader has its own. A checkpoint stores
what ranks have alike once. Under one name, the states of the loaders were taken for such a thing,
so that of rank 0 was stored and went to all. After a restart every rank reads the rows of rank 0:
the batch has as many rows as before, most of them copies. prime-rl mended it in September 2025;
torchtitan had met it in 2024 (#409). The loss even looks a little better, for a model learns
repeated rows by heart.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, Resumed

X = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))


class Loader:
    """The rows of a rank: every so many, from a place on."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self.next, self.stride = mesh.get_local_rank(), mesh.size()

    def rows(self, count: int) -> torch.Tensor:
        places = range(self.next, self.next + count * self.stride, self.stride)
        self.next += count * self.stride
        return X[list(places)]


def train(mesh: DeviceMesh, folder: Path, steps: int, by_rank: bool) -> None:
    torch.manual_seed(0)
    model, loader, first = nn.Linear(4, 2), Loader(mesh), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    name = f"loader.{mesh.get_local_rank()}" if by_rank else "loader"
    if (folder / ".metadata").exists():
        state = {"model": model.state_dict(), "steps": 0, name: 0}
        dcp.load(state, checkpoint_id=folder)
        model.load_state_dict(state["model"])
        first, loader.next = state["steps"], state[name]
    for _ in range(first, steps):
        optimizer.zero_grad()
        model(loader.rows(8 // mesh.size())).square().sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        optimizer.step()
    whole = {"model": model.state_dict(), "steps": steps, name: loader.next}
    dcp.save(whole, checkpoint_id=folder)


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, by_rank=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, by_rank=True)


EXHIBIT = Exhibit(
    title="Every rank resumes with the rows of rank 0",
    source="PrimeIntellect-ai/prime-rl PR 1035, pytorch/torchtitan #409",
    date="2025-09-29",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Linear, time 2",
)
