"""Documents of other lengths are packed into one row, and their positions begin again with each.
Under context parallelism a rank has a part of the row, and must have the positions of this part.
Megatron cut the positions of the first sequence, and took them for all. A rank's tokens stood at
places of a document that wasn't theirs. Rotary positions have no range to leave, so nothing
complained. It shows in whatever reads positions first.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

LENGTHS = [5, 3]


def as_of_the_first(rank, each):
    return torch.arange(LENGTHS[0] + LENGTHS[1])[rank * each : (rank + 1) * each]


def as_packed(rank, each):
    return torch.cat([torch.arange(length) for length in LENGTHS])[rank * each : (rank + 1) * each]


class Rotary(nn.Module):
    def forward(self, x, places):
        angles = places[:, None] * torch.tensor([1.0, 0.1])
        first, second = x.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


def train(mesh, places):
    torch.manual_seed(0)
    x = torch.randn(8, 4).chunk(mesh.size())[mesh.get_local_rank()]
    chosen = as_packed if mesh.size() == 1 else places
    Rotary()(x, chosen(mesh.get_local_rank(), len(x)))


def wrong(mesh):
    train(mesh, as_of_the_first)


def right(mesh):
    train(mesh, as_packed)


EXHIBIT = Exhibit(
    title="Every document takes the places of the first",
    source="NVIDIA/Megatron-LM PR 5243",
    date="2026-06-16",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Rotary",
)
