"""An optimizer that held the old parameters.

FSDP2 replaces the parameters of a model by shards. An optimizer that was made before has the
tensors of before. Its steps go well, gradients of them never come, and the model that computes is
never changed. The loss stays where it began, or wanders with the data. Accelerate had this order in
a report (#2665), which is also a case of the benchmark TrainCheck. It is an old mistake that each
new wrapper invites again. The finding here needs no tensor at all: the optimizer's parameters
belong to no module that the program calls.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, wraps_first: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    if not wraps_first:
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    fully_shard(model, mesh=mesh)
    if wraps_first:
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(rows(mesh)).square().sum(1).mean().backward()
    optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, wraps_first=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, wraps_first=True)


EXHIBIT = Exhibit(
    title="The optimizer is made before the model is wrapped",
    source="huggingface/accelerate #2665",
    date="2024",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameters that belong to no module",
)
