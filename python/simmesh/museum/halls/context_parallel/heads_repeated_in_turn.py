"""Grouped-query attention has fewer keys than queries: heads 0 and 1 share a key, 2 and 3
another. Ulysses cuts attention by heads, so the keys are repeated first, until each query has its
own. There are two ways to repeat: 0 0 1 1, and 0 1 0 1. The model means the first. VeOmni mended
the repetition under Ulysses in 2025; its title is all that is known here, and the program has the
mistake that lies nearest. All shapes are right, and queries meet the keys of another group. It
shows in the output of the layer.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class Attention(nn.Module):
    def __init__(self, mesh, repeat):
        super().__init__()
        self.mesh, self.repeat = mesh, repeat
        self.query, self.key = nn.Linear(3, 8, bias=False), nn.Linear(3, 4, bias=False)

    def forward(self, x):
        query, key = (
            each(x).unflatten(-1, (-1, 2)).transpose(0, 1) for each in (self.query, self.key)
        )
        rank, ranks = self.mesh.get_local_rank(), self.mesh.size()
        query, key = (each.chunk(ranks)[rank] for each in (query, self.repeat(key)))
        heads = (query @ key.transpose(1, 2)).softmax(-1) @ key
        return DTensor.from_local(heads, self.mesh, [Shard(0)]).full_tensor()


def one_after_the_other(key):
    return key.repeat_interleave(2, 0)


def train(mesh, repeat):
    torch.manual_seed(0)
    Attention(mesh, one_after_the_other if mesh.size() == 1 else repeat)(torch.randn(4, 3))


def wrong(mesh):
    train(mesh, lambda key: key.repeat(2, 1, 1))


def right(mesh):
    train(mesh, one_after_the_other)


EXHIBIT = Exhibit(
    title="0 1 0 1",
    source="ByteDance-Seed/VeOmni PR 162",
    date="2025-11-03",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Attention",
)
