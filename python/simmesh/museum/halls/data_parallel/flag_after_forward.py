"""A flag that was set a moment too late.

A training that accumulates wants DDP to reduce with the last micro-batch only. It may set DDP's own
flag instead of using no_sync. build-nanogpt set the flag between the forward and the backward pass.
But DDP looks at the flag in the forward pass, and prepares there. So the first micro-batch of a
step was reduced, since the flag was still set from the step before, and the last one was not. Much
of each step stayed on its rank, and the extra messages cost time. The lesson is in the
documentation of no_sync, in one sentence: the forward pass must be inside too.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, sets_before_forward: bool) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for index, part in enumerate(rows(mesh).chunk(2)):
        if sets_before_forward:
            model.require_backward_grad_sync = index == 1
        loss = model(part).square().sum() / (len(X) / mesh.size())
        model.require_backward_grad_sync = index == 1
        loss.backward()
    optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, sets_before_forward=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, sets_before_forward=True)


EXHIBIT = Exhibit(
    title="DDP's flag is set after the forward pass",
    source="karpathy/build-nanogpt PR 30",
    date="2024-06-17",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
