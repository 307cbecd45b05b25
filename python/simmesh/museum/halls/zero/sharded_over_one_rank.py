"""The model that was sharded over nobody.

Stage 3 of ZeRO can shard a model while it is being built, so that no rank ever holds all of it.
Which ranks share it depends on the process group. A program that began to build before it had made
the group got a group of one rank, in silence. Every parameter was "sharded" into a single piece,
and each rank held the whole model. The program was right and used as much memory as without ZeRO.
Nobody gets an error, so users found it when memory ran out. Counting the gathers of a forward pass
shows it at once: there are none.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from simmesh.museum import Counts, Exhibit

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Sharded(nn.Module):
    """A layer whose weight is in shards over a group, or over this rank alone without one."""

    def __init__(self, group: Any) -> None:
        super().__init__()
        self.group, ranks = group, 1 if group is None else dist.get_world_size(group)
        rank = 0 if group is None else dist.get_rank(group)
        self.shard = nn.Parameter(torch.randn(4, 4).chunk(ranks)[rank].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.group is None:
            return F.linear(x, self.shard)
        weight = torch.empty(4, 4)
        dist.all_gather_into_tensor(weight, self.shard.detach(), group=self.group)
        return F.linear(x, weight)


def build(group_first: bool) -> None:
    group = dist.group.WORLD if group_first else None
    layers = [Sharded(group) for _ in range(2)]
    group = dist.group.WORLD  # too late for the layers
    x = X
    for layer in layers:
        x = layer(x)


def wrong() -> None:
    build(group_first=False)


def right() -> None:
    build(group_first=True)


EXHIBIT = Exhibit(
    title="A model is sharded over one rank",
    source="deepspeedai/DeepSpeed PR 8089",
    date="2026-07-31",
    check=Counts(ranks=2, calls={"all_gather": 2}),
    wrong=wrong,
    right=right,
    at_fault="calls of all_gather, got 0",
)
