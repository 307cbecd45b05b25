"""Dropout zeroes elements at random, and a seed says which ones. Under sequence parallelism each
rank has a piece of the sequence, and draws the mask of its piece. PaddleFleetX drew with one seed
on all ranks, so that all pieces had the same mask. Token 0 lost what token 512 lost, on and on.
The noise that should teach robustness repeats itself. The share of zeros is right, and so is
every statistic that looks at one rank. A kernel that draws by an element's number has the same
bug if it counts from the piece's begin, as here. It shows in the output of the layer on all ranks
but the first.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class Dropout(nn.Module):
    """Drops an element by a hash of its number, as counter-based generators do."""

    def __init__(self, seed, first):
        super().__init__()
        self.seed, self.first = seed, first

    def forward(self, x):
        numbers = torch.arange(x.numel()).view_as(x) + self.first
        hashes = (numbers + self.seed) * 2654435761 % 2**32
        return x * (hashes // 2**16 % 2) * 2


def train(mesh, first):
    torch.manual_seed(0)
    mine = torch.randn(4, 3).chunk(mesh.size())[mesh.get_local_rank()]
    dropped = Dropout(7, first(mesh.get_local_rank() * mine.numel()))(mine)
    return DTensor.from_local(dropped, mesh, [Shard(0)]).full_tensor()


def wrong(mesh):
    return train(mesh, lambda first: 0)


def right(mesh):
    return train(mesh, lambda first: first)


EXHIBIT = Exhibit(
    title="Every piece drops the same",
    source="PaddlePaddle/PaddleFleetX PR 1005",
    date="2022-12-28",
    check=SameAsOneDevice(layouts=[{"sp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Dropout",
)
