"""A mesh has two dims: tensor parallelism, where dropout of whole activations must be equal on
all ranks, and data parallelism, where it must differ, since rows differ. An option of tt-metal
says whether devices draw alike or not. It is one flag for all devices. With one answer the
tensor-parallel ranks disagree; with the other all replicas repeat one mask. What is needed is a
seed for each place along "dp", and none along "tp". It shows when the ranks of each dim are asked
whether they agree.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, Replicas


def differs_everywhere(mesh):
    return 100 + mesh.get_rank()


def differs_along_dp(mesh):
    return 100 + mesh["dp"].get_local_rank()


def train(mesh, seed_of_dropout):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    torch.manual_seed(seed_of_dropout(mesh))
    rows = torch.ones(4, 3).chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    model(rows).sum().backward()


def wrong(mesh):
    train(mesh, differs_everywhere)


def right(mesh):
    train(mesh, differs_along_dp)


EXHIBIT = Exhibit(
    title="One flag for two questions",
    source="tenstorrent/tt-metal #55947",
    date="2026-09-09",
    check=Replicas(layout={"dp": 2, "tp": 2}, over=["tp"]),
    wrong=wrong,
    right=right,
    at_fault="gradient of 0.weight",
)
