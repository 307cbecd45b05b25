"""A name in the index, and nothing behind it.

A model whose head is its embedding has two names for one tensor. Torchtitan wrote such a tensor
once and left the second name out of the files, as one should. In the index that lists all names,
the second name stayed. A reader that trusts the index finds no data under that name, and depending
on the reader that is an error, zeros, or random numbers. It is right again if the reader knows that
the two are tied. Here the second name is filled with what the reader has, which is a fresh start.
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


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.embed(x)))


def train(mesh: DeviceMesh, folder: Path, steps: int, follows_tie: bool) -> None:
    torch.manual_seed(len(list(folder.iterdir())))  # a new process draws new numbers
    model = Tied()
    file, first = folder / "state.pt", 0
    if file.exists():
        first, index, saved = torch.load(file)
        for name in index:  # in the order of names: embed.weight, head.weight
            fresh = torch.randn(4, 4)
            tied = saved["embed.weight"] if follows_tie else fresh
            model.get_parameter(name).data.copy_(saved.get(name, tied))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(first, steps):
        optimizer.zero_grad()
        reduced(model, mesh, step)
        optimizer.step()
    if mesh.get_local_rank() == 0:
        index = list(model.state_dict())
        torch.save((steps, index, {"embed.weight": model.embed.weight.detach()}), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, follows_tie=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, follows_tie=True)


EXHIBIT = Exhibit(
    title="A tied weight stays in the index without data",
    source="pytorch/torchtitan PR 3764",
    date="2026-06-27",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter embed.weight",
)
