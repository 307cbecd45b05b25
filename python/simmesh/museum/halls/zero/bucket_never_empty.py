"""A bucket that was full for ever.

Stage 3 of ZeRO collects gradients in a bucket and sends it when it is full, so that a hundred small
parameters cost one message. The counter of its elements grew with each parameter and was never set
back. So the first bucket was right. After it every parameter found a full bucket and was sent
alone. No number was wrong, and only the time of a step said that something was. The cure is one
line. Counting the calls of a step shows it on any machine, in the first step.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Counts, Exhibit

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Buckets:
    def __init__(self, size: int, resets: bool) -> None:
        self.size, self.resets = size, resets
        self.fill, self.gradients = 0, list[torch.Tensor]()

    def add(self, gradient: torch.Tensor) -> None:
        if self.fill + gradient.numel() > self.size:
            self.flush()
        self.gradients.append(gradient)
        self.fill += gradient.numel()

    def flush(self) -> None:
        if self.gradients:
            flat = torch.cat([each.flatten() for each in self.gradients])
            dist.all_reduce(flat)
            sizes = [each.numel() for each in self.gradients]
            for gradient, part in zip(self.gradients, flat.split(sizes)):
                gradient.copy_(part.view_as(gradient))
        self.gradients = []
        if self.resets:
            self.fill = 0


def train(resets: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))
    model(X[dist.get_rank() :: 2]).square().sum().backward()
    buckets = Buckets(40, resets)
    for parameter in model.parameters():
        assert parameter.grad is not None
        buckets.add(parameter.grad)
    buckets.flush()


def wrong() -> None:
    train(resets=False)


def right() -> None:
    train(resets=True)


EXHIBIT = Exhibit(
    title="A bucket that never counts as empty again",
    source="deepspeedai/DeepSpeed PR 7418",
    date="2025-07-08",
    check=Counts(ranks=2, calls={"all_reduce": 2}),
    wrong=wrong,
    right=right,
    at_fault="dist.all_reduce(flat)",
)
