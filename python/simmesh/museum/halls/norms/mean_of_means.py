"""The mean of means.

A loss is a mean over tokens, and tokens that only fill a row up don't count. Each rank divides by
its own number of tokens, and the gradients of all ranks are averaged. If one rank has four tokens
and another two, each token of the second weighs twice as much. Torchtitan did so from its first day
until January 2026, over ranks and over micro-batches alike (#1842). verl, transformers and
torchtune had the same. In pretraining all rows are full and nothing shows; in fine-tuning short
answers weigh too much. A golden value of the loss can't find it, since it was recorded with the
bug.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
IS_VALID = torch.tensor([1, 1, 1, 1, 1, 0, 0, 1])


def train(mesh: DeviceMesh, counts_own: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    mine = rows_of(mesh.get_local_rank(), mesh.size(), len(X))
    losses = model(X[mine]).square().sum(1) * IS_VALID[mine]
    count = IS_VALID[mine].sum()
    if not counts_own:
        dist.all_reduce(count, group=mesh.get_group())
    (losses.sum() / int(count)).backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh.get_group())
        if counts_own:
            parameter.grad /= mesh.size()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, counts_own=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, counts_own=False)


EXHIBIT = Exhibit(
    title="The mean of means",
    source="pytorch/torchtitan PR 2206 (#1842)",
    date="2026-01-25",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of Linear",
)
