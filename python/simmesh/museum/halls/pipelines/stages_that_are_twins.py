"""With interleaving a rank of a pipeline has several stages, from different depths of the model.
OLMo-core initialized each of them with a generator that began at one seed. So the stages of a
rank began with equal weights: layers 0 and 2 were twins, and so were 1 and 3. Twins get different
gradients, so they part, and nobody looks at weights before the first step. But the model starts
from another place than the one whose settings were tuned. It shows in the initial parameters.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

LAYERS = 4


class Stages(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleDict(layers)

    def forward(self, x):
        for layer in self.layers.values():
            layer(x)


def layer(generator):
    made = nn.Linear(3, 3, bias=False)
    nn.init.normal_(made.weight, generator=generator)
    return made


def generators_of_stages(numbers):
    return [torch.Generator().manual_seed(7) for _ in numbers]


def generators_of_layers(numbers):
    return [torch.Generator().manual_seed(7 + number) for number in numbers]


def train(mesh, generators):
    rank, ranks = mesh.get_local_rank(), mesh.size()
    numbers = range(rank, LAYERS, ranks)
    made = generators_of_layers if ranks == 1 else generators
    stages = {str(each): layer(generator) for each, generator in zip(numbers, made(numbers))}
    Stages(stages)(torch.ones(2, 3))


def wrong(mesh):
    train(mesh, generators_of_stages)


def right(mesh):
    train(mesh, generators_of_layers)


EXHIBIT = Exhibit(
    title="Twins at different depths",
    source="allenai/OLMo-core PR 679",
    date="2026-05-14",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter",
)
