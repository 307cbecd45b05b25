"""Parameters that were gathered twice.

FSDP gathers a layer's parameters before the backward pass needs them. With activation checkpointing
the layer runs forward again at that moment, and would gather them as well. A wrapper that does both
by itself sends everything twice. NeMo Automodel did: its prefetch gathered for the backward pass,
then the recomputation gathered once more, since neither knew of the other. Nothing is wrong but the
time. It is found by counting what a step sends, which no loss curve does.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

from simmesh.museum import Counts, Exhibit

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Gathered(torch.autograd.Function):
    """A weight from the shards of all ranks."""

    @staticmethod
    def forward(ctx: Any, shard: torch.Tensor) -> torch.Tensor:
        whole = torch.empty(dist.get_world_size() * len(shard), shard.shape[1])
        dist.all_gather_into_tensor(whole, shard)
        return whole

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        shard = torch.empty(len(gradient) // dist.get_world_size(), gradient.shape[1])
        dist.reduce_scatter_tensor(shard, gradient)
        return shard


class Layer(nn.Module):
    def __init__(self, keeps: bool) -> None:
        super().__init__()
        self.shard, self.keeps = nn.Parameter(torch.randn(4, 4).chunk(2)[dist.get_rank()]), keeps
        self.prefetched: torch.Tensor | None = None

    def prefetch(self, gradient: torch.Tensor) -> None:
        self.prefetched = Gathered.apply(self.shard)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        whole = self.prefetched if self.keeps else None
        return torch.tanh(x @ (Gathered.apply(self.shard) if whole is None else whole))


def train(keeps: bool) -> None:
    torch.manual_seed(0)
    layer = Layer(keeps)
    y = checkpoint(layer, X[dist.get_rank() :: 2].clone().requires_grad_(), use_reentrant=True)
    y.register_hook(layer.prefetch)
    y.sum().backward()


def wrong() -> None:
    train(keeps=False)


def right() -> None:
    train(keeps=True)


EXHIBIT = Exhibit(
    title="Prefetch and recomputation both gather",
    source="NVIDIA-NeMo/Automodel PR 3411",
    date="2026-08-06",
    check=Counts(ranks=2, calls={"all_gather": 2}),
    wrong=wrong,
    right=right,
    at_fault="dist.all_gather_into_tensor(whole, shard)",
)
