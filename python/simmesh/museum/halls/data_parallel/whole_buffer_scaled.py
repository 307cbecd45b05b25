"""Early buckets that were scaled again and again.

Gradients lie in one long buffer and are sent in buckets, each as soon as it is full. Before it is
sent, a bucket is divided by the number of ranks. Megatron's code divided the buffer instead of the
bucket. So when the second bucket was ready, the first one was divided once more, and with ten
buckets the first has been divided ten times. The last layers of a model, whose gradients come
first, learned almost nothing. With one bucket all is right, and tests had one. All ranks agree with
each other, and none agrees with one device.
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


def train(mesh: DeviceMesh, scales_buffer: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model(rows(mesh)).square().sum(1).mean().backward()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    buffer = torch.cat([each.flatten() for each in gradients])
    for bucket in buffer.chunk(3):
        scaled = buffer if scales_buffer else bucket
        scaled /= mesh.size()
        dist.all_reduce(bucket, group=mesh.get_group())
    for gradient, part in zip(gradients, buffer.split([each.numel() for each in gradients])):
        gradient.copy_(part.view_as(gradient))


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, scales_buffer=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, scales_buffer=False)


EXHIBIT = Exhibit(
    title="Early buckets are scaled once for each later one",
    source="NVIDIA/Megatron-LM PR 3023",
    date="2026-01-21",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of 0.weight",
)
