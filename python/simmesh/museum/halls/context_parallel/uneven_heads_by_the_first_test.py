"""Ulysses exchanges tokens for heads before attention, and heads for tokens behind it. If ranks
don't divide the heads, some ranks get more of them, and both exchanges must know. DeepSpeed
tested the shape in the first exchange, and let the second one go by that answer. Keys may have
another number of heads than queries, so the answer is one for one tensor only. The second
exchange took an even way for uneven heads, and heads were lost or misplaced. It shows in the
output of the second exchange.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


def sizes(count, ranks):
    return [count // ranks + (rank < count % ranks) for rank in range(ranks)]


class Exchange(nn.Module):
    """All heads of a rank's tokens, from some heads of all tokens."""

    def __init__(self, mesh):
        super().__init__()
        self.mesh = mesh

    def forward(self, heads, split):
        tokens = heads.shape[0] // self.mesh.size()
        parts = [heads.new_zeros(tokens, each, heads.shape[2]) for each in split]
        mine = [each.contiguous() for each in heads.chunk(self.mesh.size())]
        dist.all_to_all(parts, mine, group=self.mesh.get_group())
        return torch.cat(parts, 1)


def attend(mesh, split_of):
    torch.manual_seed(0)
    ranks, rank = mesh.size(), mesh.get_local_rank()
    every = torch.randn(4, 3, 2)
    begin = sum(sizes(3, ranks)[:rank])
    heads = every[:, begin : begin + sizes(3, ranks)[rank]].tanh()
    split = split_of(ranks)
    heads = heads[:, : split[rank]]
    return Exchange(mesh)(heads, split)


def wrong(mesh):
    return attend(mesh, lambda ranks: [3 // ranks] * ranks)


def right(mesh):
    return attend(mesh, lambda ranks: sizes(3, ranks))


EXHIBIT = Exhibit(
    title="The exchange that trusted another's test",
    source="deepspeedai/DeepSpeed PR 6797",
    date="2024-12-10",
    check=SameAsOneDevice(layouts=[{"sp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Exchange",
)
