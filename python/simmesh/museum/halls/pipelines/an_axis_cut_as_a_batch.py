"""A schedule cuts the inputs of a step into micro-batches, along dim 0 of each tensor. Some
models have positions of three axes: time, height, width. Their tensor is [3, rows, length].
Automodel cut that one along dim 0 too. Dim 0 is the axis, and the rows are in dim 1. With 3
micro-batches the shapes even fit: each got one axis in place of its rows. Pictures were then read
as if they had only a height, or only a time. It shows in the output of the first layer that reads
positions.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

ROWS, LENGTH, AXES = 3, 2, 3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(AXES))

    def forward(self, x, places):
        return x + torch.einsum("arl,a->rl", places.float(), self.scale)


def along_dim_0(places, number):
    return places[number : number + 1].transpose(0, 1)


def along_the_rows(places, number):
    return places[:, number : number + 1]


def train(mesh, cut):
    torch.manual_seed(0)
    layer = Layer()
    x, places = torch.randn(ROWS, LENGTH), torch.arange(AXES * ROWS * LENGTH)
    places = places.view(AXES, ROWS, LENGTH)
    chosen = along_the_rows if mesh.size() == 1 else cut
    for number in range(ROWS):
        layer(x[number : number + 1], chosen(places, number))


def wrong(mesh):
    train(mesh, along_dim_0)


def right(mesh):
    train(mesh, along_the_rows)


EXHIBIT = Exhibit(
    title="Height in place of a row",
    source="NVIDIA-NeMo/Automodel PR 3208",
    date="2026-07-28",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Layer",
)
