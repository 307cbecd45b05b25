"""A model that is cut over ranks should begin with the weights that one device begins with. For
that, the random numbers of a piece must be those of its place in the whole. In PyTorch's DTensor
they depend on the layout: cut by rows, cut by columns, on 8, 4 or 1 devices, one seed gives five
different models. The report has losses that differ by up to 1.1 after training, for nothing but
the layout. Here each rank draws its piece with the seed that it got, which depends on the cut as
well. It shows in the initial parameters, before anything has been computed.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


def from_the_piece(shape, rank, ranks):
    rows, columns = shape
    generator = torch.Generator().manual_seed(11 + rank)
    return torch.randn(rows // ranks, columns, generator=generator)


def from_the_whole(shape, rank, ranks):
    whole = torch.randn(shape, generator=torch.Generator().manual_seed(11))
    return whole.chunk(ranks)[rank].clone()


class Columns(nn.Module):
    def __init__(self, mesh, draw):
        super().__init__()
        self.weight = nn.Parameter(draw((4, 3), mesh.get_local_rank(), mesh.size()))

    def forward(self, x):
        return x @ self.weight.t()


def wrong(mesh):
    Columns(mesh, from_the_piece)(torch.ones(2, 3))


def right(mesh):
    Columns(mesh, from_the_whole)(torch.ones(2, 3))


EXHIBIT = Exhibit(
    title="One seed, five models",
    source="pytorch/pytorch #168058",
    date="2025-11-18",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter",
)
