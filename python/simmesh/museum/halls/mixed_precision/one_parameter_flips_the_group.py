"""One bfloat16 parameter in a group of float32.

Parameters that FSDP gathers together share one buffer and one dtype for computing. NeMo Automodel
asked whether any of the parameters of a group is bfloat16, and set a flag for the group. A single
one, as a router's bias may be, made the whole group keep the dtype that it is stored in. The
float32 masters of the others then computed in float32, where bfloat16 was meant: twice the memory
and half the speed, and other numbers than in the run before. Where the dtypes met in one product it
crashed, which was the lucky case.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.bias = nn.Parameter(torch.randn(4).bfloat16())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.bias


def train(mesh: DeviceMesh, asks_any: bool) -> None:
    torch.manual_seed(0)
    model = Model()
    keeps = asks_any and any(each.dtype is torch.bfloat16 for each in model.parameters())
    for parameter in model.layer.parameters():
        parameter.data = parameter.data.to(torch.float32 if keeps else torch.bfloat16)
    x = rows(mesh).to(model.layer.weight.dtype)
    (model(x).float().square().sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, asks_any=mesh.size() > 1)  # one device gathers no group


def right(mesh: DeviceMesh) -> None:
    train(mesh, asks_any=False)


EXHIBIT = Exhibit(
    title="One parameter changes the dtype of its group",
    source="NVIDIA-NeMo/Automodel PR 3328",
    date="2026-08-04",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter layer.weight",
)
