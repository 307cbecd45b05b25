"""With a causal mask the end of a sequence has more work than the beginning. So context
parallelism deals the pieces in zigzag: rank 0 gets the first and the last one. A sliding window
lets a token see only the few before it, counted in the order of the tokens. OLMo-core accepted
windows together with zigzag order, and counted in the order of the rank's memory. Across the seam
of the two pieces, tokens saw others that are far away, and missed their neighbours. It shows in
the output of attention, next to the seam.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice

LENGTH, WINDOW = 8, 3


class Attention(nn.Module):
    def __init__(self, mesh, places_of):
        super().__init__()
        self.mesh, self.places_of = mesh, places_of

    def forward(self, x, numbers):
        places = self.places_of(numbers)
        keys, where = (
            DTensor.from_local(each, self.mesh, [Shard(0)]).full_tensor() for each in (x, places)
        )
        distance = places[:, None] - where[None, :]
        scores = (x @ keys.t()).masked_fill((distance < 0) | (distance >= WINDOW), -1e4)
        return scores.softmax(-1) @ keys


def train(mesh, places_of):
    torch.manual_seed(0)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    pieces = torch.arange(LENGTH).chunk(2 * ranks)
    numbers = torch.cat([pieces[rank], pieces[-1 - rank]])
    y = Attention(mesh, lambda numbers: places_of(numbers, rank))(
        torch.randn(LENGTH, 2)[numbers], numbers
    )
    whole = DTensor.from_local(y, mesh, [Shard(0)]).full_tensor()
    order = DTensor.from_local(numbers, mesh, [Shard(0)]).full_tensor()
    return whole[order.argsort()]


def wrong(mesh):
    return train(mesh, lambda numbers, rank: torch.arange(len(numbers)) + rank * len(numbers))


def right(mesh):
    return train(mesh, lambda numbers, rank: numbers)


EXHIBIT = Exhibit(
    title="Neighbours in memory, strangers in the text",
    source="allenai/OLMo-core PR 341",
    date="2025-08-12",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Attention",
)
