"""The branch that only one rank took.

A model may use a layer for some rows only, such as an adapter for images. If one rank has such rows
and another has none, the two run other graphs. The gradient of the layer then is there on one rank
and missing on the other. FSDP reduced it, for the reduction waits for nobody in particular, but
only the rank that had used the layer got its shard of the result and stepped. The other shards
stayed as they were. No message says so. It is seen by any check that compares the parameter with
one device's, and it needs rows that differ between ranks, which tests rarely have.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.arange(1.0, 17.0).view(8, 2)
IS_IMAGE = torch.arange(8) < 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.text, self.image = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, is_image: torch.Tensor) -> torch.Tensor:
        loss = self.text(x[~is_image]).square().sum()
        if bool(is_image.any()):
            loss = loss + self.image(x[is_image]).square().sum()
        return loss / len(X)


def train(mesh: DeviceMesh, skips_missing: bool) -> None:
    torch.manual_seed(0)
    model = Model()
    mine = rows_of(mesh.get_local_rank(), mesh.size(), len(X))
    model(X[mine], IS_IMAGE[mine]).backward()
    for parameter in model.parameters():
        has_one = parameter.grad is not None
        gradient = parameter.grad if has_one else torch.zeros_like(parameter)
        dist.all_reduce(gradient, group=mesh.get_group())
        parameter.grad = gradient if has_one or not skips_missing else None
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, skips_missing=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, skips_missing=False)


EXHIBIT = Exhibit(
    title="A parameter has a gradient on one rank only",
    source="pytorch/pytorch PR 174862",
    date="2026-04",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of image.weight",
)
