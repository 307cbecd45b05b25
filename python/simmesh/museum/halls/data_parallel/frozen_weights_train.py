"""Frozen weights that trained.

A part of a model may be frozen: an embedding that was trained before, or all but an adapter.
Parallelizing a model replaces parameters by distributed ones. Torchtitan registered the new
parameter without asking whether the old one wanted gradients, and a new parameter wants them. So
the frozen weights trained along, used memory for their states, and lost what they had been frozen
for. On one device nothing is replaced. There the gradient isn't there at all, which is the
difference that is found.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.tensor import DeviceMesh, Replicate, Shard, distribute_tensor

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, keeps_frozen: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    forgets = mesh.size() > 1 and not keeps_frozen  # one device distributes nothing
    for layer in model:
        for name, parameter in list(layer.named_parameters()):
            placed = distribute_tensor(parameter.detach(), mesh, [Replicate()])
            flag = parameter.requires_grad or forgets
            setattr(layer, name, nn.Parameter(placed, requires_grad=flag))
    x = distribute_tensor(X, mesh, [Shard(0)])
    (model(x).square().sum() / len(X)).backward()
    trained = [each for each in model.parameters() if each.requires_grad]
    torch.optim.SGD(trained, lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, keeps_frozen=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, keeps_frozen=True)


EXHIBIT = Exhibit(
    title="Frozen weights train after they are distributed",
    source="pytorch/torchtitan PR 4267",
    date="2026-08-22",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter 0.weight",
)
