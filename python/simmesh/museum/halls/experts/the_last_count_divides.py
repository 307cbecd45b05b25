"""A balance loss over a whole step keeps a running count: tokens of each expert, over the micro-
batches so far. The mean is that count, divided by the number of all these tokens. Megatron kept
the numerator over all tokens so far, and divided by the tokens of the last micro-batch. In the
second micro-batch the loss was twice what it should be, in the third one three times. It shows
when a step has more micro-batches on one side than on the other.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Gate(nn.Module):
    def __init__(self, keeps_total):
        super().__init__()
        self.keeps_total = keeps_total
        self.weight = nn.Parameter(torch.randn(4, 3))
        self.register_buffer("counts", torch.zeros(4))
        self.register_buffer("share", torch.zeros(4))
        self.tokens = 0

    def forward(self, tokens, group):
        scores = (tokens @ self.weight.t()).softmax(-1)
        counts = torch.bincount(scores.argmax(-1), minlength=4).float()
        dist.all_reduce(counts, group=group)
        self.counts += counts
        now = len(tokens) * group.size()
        self.tokens = self.tokens + now if self.keeps_total else now
        self.share = self.counts / self.tokens
        return scores


def train(mesh, keeps_total):
    torch.manual_seed(0)
    gate = Gate(keeps_total)
    mine = torch.randn(8, 3).chunk(mesh.size())[mesh.get_local_rank()]
    for tokens in mine.chunk(1 if mesh.size() == 1 else 2):
        gate(tokens, mesh.get_group())


def wrong(mesh):
    train(mesh, keeps_total=False)


def right(mesh):
    train(mesh, keeps_total=True)


EXHIBIT = Exhibit(
    title="All of them, divided by the last",
    source="NVIDIA/Megatron-LM PR 7214",
    date="2026-09-10",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer Gate.share",
)
