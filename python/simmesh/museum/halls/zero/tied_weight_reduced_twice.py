"""A tied weight that was reduced once for each use.

The embedding and the head of a language model often share one weight. ZeRO reduces a gradient in a
hook, which must run once for a parameter however often it is used. Under autocast DeepSpeed could
not tell that the two uses were one, for it went by the address of the data, and ZeRO swaps that. So
the hook ran for each use. What was reduced already went over the ranks again, and came back
multiplied. The project found it by a training with autocast whose loss was off. Equal bits with one
device fail in the first gradient.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS = torch.arange(8) % 5


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.embed(tokens)))


def train(mesh: DeviceMesh, once: bool) -> None:
    torch.manual_seed(0)
    model = Tied()
    mine = TOKENS[rows_of(mesh.get_local_rank(), mesh.size(), len(TOKENS))]
    (F.cross_entropy(model(mine), mine, reduction="sum") / len(TOKENS)).backward()
    uses = [model.embed.weight, model.head.weight]
    for parameter in dict.fromkeys(uses) if once else uses:
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, once=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, once=True)


EXHIBIT = Exhibit(
    title="A tied weight is reduced once for each use",
    source="deepspeedai/DeepSpeed PR 7534",
    date="2025-09-02",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of embed.weight",
)
