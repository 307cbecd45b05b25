"""The day on which x1/n1 + x2/n2 was not a mean.

Accumulation over micro-batches should change memory and nothing else. Each micro-batch has its own
number of tokens that count. Torchtune divided the loss of each by its own number, and the sum by
the number of micro-batches. A short micro-batch then weighs as much as a long one. In October 2024
half of the field found this in its trainers within a week, and torchtune's change is dated to "the
day the ML community first discovered" it. Here one device has
memory for the whole batch, and ranks take two rows at a time.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
IS_VALID = torch.tensor([1, 1, 1, 1, 0, 1, 0, 0])


def train(mesh: DeviceMesh, divides_each: bool) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    mine = rows_of(mesh.get_local_rank(), mesh.size(), len(X))
    fit = len(X) if mesh.size() == 1 else 2  # rows for which a device has memory
    parts = list(zip(X[mine].split(fit), IS_VALID[mine].split(fit)))
    total = torch.zeros(())
    for x, is_valid in parts:
        loss = (model(x).square().sum(1) * is_valid).sum()
        if divides_each:
            loss = loss / int(is_valid.sum()) / len(parts) / mesh.size()
        else:
            loss = loss / int(IS_VALID.sum())
        loss.backward()
        total += loss.detach()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    return total


def wrong(mesh: DeviceMesh) -> torch.Tensor:
    return train(mesh, divides_each=True)


def right(mesh: DeviceMesh) -> torch.Tensor:
    return train(mesh, divides_each=False)


EXHIBIT = Exhibit(
    title="Micro-batches of other lengths weigh the same",
    source="meta-pytorch/torchtune PR 1875",
    date="2024-10-20",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
