"""Rotary positions are kept in a table, a buffer of the model. Context parallelism cuts the
sequence, and the table with it, so that each rank has the rows of its tokens. With pipeline
stages torchtitan cut the table of the whole model. But each stage had its own copy of the model,
made before, and read the table of that copy. So rank 1 turned its tokens by the angles of rank
0's. The cut was made, checked and right, in an object that nobody used. It shows in the first
output of a stage.
"""

import copy

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.linspace(0, 1, 6)[:, None], persistent=False)

    def forward(self, x):
        return x * self.table[: len(x)].cos()


def train(mesh, models_to_cut):
    torch.manual_seed(0)
    model = Stage()
    stage = copy.deepcopy(model)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    for each in models_to_cut(model, stage):
        each.table = each.table.chunk(ranks)[rank]
    stage(torch.randn(6, 2).chunk(ranks)[rank])


def wrong(mesh):
    train(mesh, lambda model, stage: [model])


def right(mesh):
    train(mesh, lambda model, stage: [stage])


EXHIBIT = Exhibit(
    title="Cut in a copy that nobody used",
    source="pytorch/torchtitan d9898423e",
    date="2025-01-16",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Stage",
)
