"""Hybrid sharding over groups of one.

FSDP can shard inside of a group and replicate between groups. A settings file may say that a group
has one rank, which asks for replicas alone. PyTorch turns that into "no shard", as it should, and
then reduces gradients over the group of one, which does nothing. So the replicas never hear of each
other. A user of verl found it in production, with three GPUs that trained and one that generated
(#7493). PyTorch had closed the same report as not planned (#154888), since FSDP2 does it right.
This exhibit runs PyTorch's own class.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, fully_shard
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, FSDP(nn.Linear(4, 2), device_mesh=mesh, sharding_strategy=HYBRID, device_id=CPU))


def right(mesh: DeviceMesh) -> None:
    train(mesh, fully_shard(nn.Linear(4, 2), mesh=mesh))


HYBRID, CPU = ShardingStrategy.HYBRID_SHARD, torch.device("cpu")


def train(mesh: DeviceMesh, model: nn.Module) -> None:
    loss = model(X[rows_of(mesh.get_rank(), mesh.size(), len(X))]).square().sum() / 4
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


EXHIBIT = Exhibit(
    title="Hybrid sharding over groups of one never reduces",
    source="verl-project/verl #7493, pytorch/pytorch #154888",
    date="2026-08-20",
    check=Replicas(layout={"replicate": 2, "shard": 1}),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
