"""A test that was the wrong way round.

Megatron's FSDP has a mode that shards nothing. Gradients are then whole on every rank, and their
norm needs no sum over ranks; in the other modes it does. A test for the mode was inverted. So norms
of replicated gradients were added up over the replicas, and came out larger by the square root of
their number. With 64 replicas everything is clipped eight times too strongly. The same inverted
test skipped the buffer that gradients should have been in.
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


def train(mesh: DeviceMesh, is_sharded: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    loss_of(model, rows(mesh)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    square = torch.stack([each.grad.square().sum() for each in model.parameters()]).sum()
    if is_sharded:
        dist.all_reduce(square, group=mesh.get_group())
    nn.utils.clip_grads_with_norm_(model.parameters(), 0.1, square.sqrt())
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, is_sharded=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, is_sharded=False)


EXHIBIT = Exhibit(
    title="A norm is summed over replicas",
    source="NVIDIA/Megatron-LM PR 3754",
    date="2026-05-21",
    check=SameAsOneDevice(ranks=4),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
