"""Filed under one dtype, looked up under another.

ZeRO sends gradients in buckets, one for each dtype. Parameters that are larger than a bucket are
kept aside and sent by themselves at the end. DeepSpeed filed these under the dtype of the
parameter, and asked for them under the dtype of the communication. Where both are the same all is
well. With another dtype for communication the list that was asked for was empty, and the largest
matrices of the model were never reduced. Each rank trained them on its own rows. Small models have
no parameter that is so large, so tests had none.
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


def train(mesh: DeviceMesh, by_parameter: bool) -> None:
    torch.manual_seed(0)
    model, sent_as = nn.Linear(4, 6), torch.float64
    loss_of(model, rows(mesh)).backward()
    small: list[torch.Tensor] = []
    large: dict[torch.dtype, list[torch.Tensor]] = {}
    for parameter in model.parameters():
        assert parameter.grad is not None
        if parameter.numel() > 10:
            key = parameter.dtype if by_parameter else sent_as
            large.setdefault(key, []).append(parameter.grad)
        else:
            small.append(parameter.grad)
    for gradient in small + large.get(sent_as, []):
        sent = gradient.to(sent_as)
        dist.all_reduce(sent, group=mesh.get_group())
        gradient.copy_(sent)


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, by_parameter=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, by_parameter=False)


EXHIBIT = Exhibit(
    title="Large parameters are filed under another dtype",
    source="deepspeedai/DeepSpeed PR 7660",
    date="2025-10-31",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
