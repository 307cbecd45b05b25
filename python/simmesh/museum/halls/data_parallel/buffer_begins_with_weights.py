"""Gradients that began with the weights.

Memory is dear, so Megatron lends the gradient buffer to the gathering of parameters: between two
steps nobody needs gradients. The next backward pass then adds gradients to the buffer. Somebody has
to set it to zero in between, and in one order of calls nobody did. So the sum began with the
parameters themselves. A gradient that contains the weight acts like a strong weight decay, or its
opposite, which a loss curve doesn't tell apart from a bad learning rate. The buffer is the same on
all ranks, so comparing ranks finds nothing; comparing with one device does.
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


def train(mesh: DeviceMesh, zeroes: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2, bias=False)
    buffer = torch.zeros(8)
    if mesh.size() > 1:  # ranks gather their shards of the parameter in the buffer
        shard = model.weight.detach().flatten().chunk(mesh.size())[mesh.get_local_rank()]
        dist.all_gather_into_tensor(buffer, shard.clone(), group=mesh.get_group())
        model.weight.data.copy_(buffer.view(2, 4))
    if zeroes:
        buffer.zero_()
    model.weight.grad = buffer.view(2, 4)
    loss_of(model, rows(mesh)).backward()
    dist.all_reduce(buffer, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, zeroes=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, zeroes=True)


EXHIBIT = Exhibit(
    title="A gradient buffer begins with the weights",
    source="NVIDIA/Megatron-LM PR 4609",
    date="2026-05-05",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
