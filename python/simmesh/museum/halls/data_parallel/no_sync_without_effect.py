"""The no_sync that synchronized.

Accelerate has one word for all wrappers: inside of no_sync nothing is reduced until the last micro-
batch. FSDP2 has no such context; it has a method of its own that must be called. Accelerate knew
the method of DDP and of FSDP1, found none here, and did nothing. All numbers stayed right, for
adding up reduced gradients is as good. But each micro-batch paid for a reduction. With eight of
them a step sent eight times the bytes, and users took it for the price of FSDP2. Counting the calls
of one step shows it.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from simmesh.museum import Counts, Exhibit

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(calls_method: bool) -> None:
    torch.manual_seed(0)
    model = fully_shard(nn.Linear(4, 2))
    for index, part in enumerate(X[dist.get_rank() :: 2].chunk(2)):
        if calls_method:
            model.set_requires_gradient_sync(index == 1)
        with getattr(model, "no_sync", nullcontext)():
            model(part).square().sum().backward()


def wrong() -> None:
    train(calls_method=False)


def right() -> None:
    train(calls_method=True)


EXHIBIT = Exhibit(
    title="no_sync has no effect on FSDP2",
    source="huggingface/accelerate PR 3762",
    date="2025-09-07",
    check=Counts(ranks=2, calls={"reduce_scatter": 1}),
    wrong=wrong,
    right=right,
    at_fault=".square().sum().backward()",
)
