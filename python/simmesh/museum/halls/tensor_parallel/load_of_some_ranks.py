"""A router without an auxiliary loss keeps experts busy by a bias, which rises for those with few
tokens. The counts of tokens must be those of the whole batch. In torchtitan tensor-parallel ranks
see different tokens of a sequence, but the counts were summed over the data-parallel ranks only.
Each tensor-parallel rank moved its bias by the tokens that it had seen itself. A sign is all that
the update takes from the counts, so wrong counts are often right enough to go unseen. It shows in
the counts, and in a bias that differs between ranks that must agree.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 4, bias=False)
        self.register_buffer("bias", torch.zeros(4))

    def forward(self, tokens):
        return (self.gate(tokens) + self.bias).argmax(-1)


def train(mesh, dims):
    torch.manual_seed(0)
    router = Router()
    tokens = torch.randn(8, 4, 3)
    tokens = tokens.chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    tokens = tokens.chunk(mesh["tp"].size(), 1)[mesh["tp"].get_local_rank()]
    counts = torch.bincount(router(tokens).flatten(), minlength=4).float()
    for dim in dims:
        dist.all_reduce(counts, group=mesh[dim].get_group())
    router.bias += 0.01 * torch.sign(counts.mean() - counts)


def wrong(mesh):
    train(mesh, ["dp"])


def right(mesh):
    train(mesh, ["dp", "tp"])


EXHIBIT = Exhibit(
    title="Counting the tokens of some ranks",
    source="pytorch/torchtitan PR 4154",
    date="2026-08-17",
    check=SameAsOneDevice(layouts=[{"dp": 2, "tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer bias",
)
