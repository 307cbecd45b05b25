"""A pipeline may give its first and last stage fewer layers, since they also embed and predict. A
model of Megatron has blocks of several types. Each type asks which numbers its layers have. One
type was never told of uneven stages, and divided the layers evenly. So some layers were built
twice, on two stages, and others never; which ones depends on the stages. The number of layers is
right, and so are all shapes. A checkpoint is loaded into the wrong places. It shows in the
initial parameters of the stage: they are those of other layers.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

LAYERS = 4


class Stage(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleDict(layers)

    def forward(self, x):
        for layer in self.layers.values():
            layer(x)


def evenly(rank, ranks):
    return range(rank * LAYERS // ranks, (rank + 1) * LAYERS // ranks)


def fewer_first(rank, ranks):
    """One layer on the first of two stages, three on the second."""
    if ranks == 1:
        return range(LAYERS)
    return range(1) if rank == 0 else range(1, LAYERS)


def train(mesh, layers_of):
    torch.manual_seed(0)
    every = [nn.Linear(3, 3, bias=False) for _ in range(LAYERS)]
    rank, ranks = mesh.get_local_rank(), mesh.size()
    numbers = fewer_first(rank, ranks)
    # The stage names its layers, the block says which ones they are.
    made = {str(name): every[number] for name, number in zip(numbers, layers_of(rank, ranks))}
    Stage(made)(torch.ones(2, 3))


def wrong(mesh):
    train(mesh, evenly)


def right(mesh):
    train(mesh, fewer_first)


EXHIBIT = Exhibit(
    title="A layer twice, another never",
    source="NVIDIA/Megatron-LM PR 3399",
    date="2026-02-13",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter",
)
