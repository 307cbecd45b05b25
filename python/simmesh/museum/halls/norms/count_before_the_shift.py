"""Masks that were shifted after they were counted.

A language model predicts the next token, so labels and masks are shifted by one place. The last
place of each row then has no label. Megatron counted the tokens of the mask before the shift and
divided all gradients by that number. Every row has one token fewer, so gradients were too small: by
one part in four thousand for long rows, by a tenth for rows of ten tokens. With rows of other
lengths on each rank the factor isn't even the same everywhere. It was reported as #2417 and mended
a few weeks later.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 4, 2, generator=torch.Generator().manual_seed(1))


def train(mesh: DeviceMesh, counts_before: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    losses = (model(mine[:, :-1]) - mine[:, 1:]).square().sum(-1)
    counted = mine if counts_before and mesh.size() > 1 else mine[:, 1:]
    count = torch.tensor(counted.shape[0] * counted.shape[1])
    dist.all_reduce(count, group=mesh.get_group())
    (losses.sum() / int(count)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, counts_before=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, counts_before=False)


EXHIBIT = Exhibit(
    title="Tokens are counted before the mask is shifted",
    source="NVIDIA/Megatron-LM PR 3159 (#2417)",
    date="2026-01-30",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
