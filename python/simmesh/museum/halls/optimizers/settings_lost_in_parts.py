"""The group of parameters that lost its settings.

A training may have groups of parameters with settings of their own: no weight decay for norms and
biases, another rate for the embedding. ZeRO cuts groups into parts that fit the CPU, and makes each
part a group. SuperOffload kept the settings of the first group for all of them, and updates of
other groups were lost. The loss still falls. Weight decay on biases is a small thing, until a model
is trained to the end with it. One device, which cuts nothing, has other parameters after the first
step.
"""

from __future__ import annotations

from typing import Any

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


def train(mesh: DeviceMesh, keeps_settings: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    groups: list[dict[str, Any]] = [
        {"params": [model.weight], "lr": 0.1, "weight_decay": 0.5},
        {"params": [model.bias], "lr": 0.2, "weight_decay": 0.0},
    ]
    if mesh.size() > 1:  # ranks cut groups into parts
        settings = groups if keeps_settings else [groups[0]] * 2
        groups = [{**own, "params": each["params"]} for own, each in zip(settings, groups)]
    optimizer = torch.optim.AdamW(groups)
    loss_of(model, rows(mesh)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    optimizer.step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, keeps_settings=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, keeps_settings=True)


EXHIBIT = Exhibit(
    title="Groups of parameters lose their settings",
    source="deepspeedai/DeepSpeed PR 7906 (#7905)",
    date="2026-03-28",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.bias",
)
