"""Programs for ranks that are processes, and for ranks that are threads."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

#: A variable of a module, which a program changes.
count = 0


def all_reduce() -> torch.Tensor:
    tensor = torch.full((3,), 0.1 * (dist.get_rank() + 1))
    dist.all_reduce(tensor)
    return tensor


def collectives() -> list[Any]:
    """One call of each kind, on views and lists too."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own = torch.arange(4.0) + rank
    whole = torch.zeros(size * 4)
    whole[rank * 4 : rank * 4 + 4] = own
    dist.all_gather_into_tensor(whole, whole[rank * 4 : rank * 4 + 4])
    pieces = [torch.zeros(4) for _ in range(size)]
    dist.all_gather(pieces, own)
    scattered = torch.zeros(1)
    dist.reduce_scatter_tensor(scattered, torch.arange(float(size)) * (rank + 1))
    swapped = torch.zeros(size, dtype=torch.int64)
    dist.all_to_all_single(swapped, torch.arange(size) + 10 * rank)
    flag = torch.tensor([rank == 1])
    dist.broadcast(flag, src=1)
    reduced = torch.full((2,), float(rank), dtype=torch.bfloat16)
    dist.reduce(reduced, dst=0)
    objects: list[Any] = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    if rank == 0:
        dist.send(own, 1)
    elif rank == 1:
        dist.recv(own, 0)
    dist.barrier()
    return [whole, pieces, scattered, swapped, flag, reduced, objects, own]


def started_together() -> list[torch.Tensor]:
    """Operations that are waited for in another order, and one that completes a functional
    collective.
    """
    tensors = [torch.full((2,), float(dist.get_rank() + index)) for index in range(3)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        assert work is not None
        work.wait()
    gathered = functional.all_gather_tensor(tensors[0], 0, dist.group.WORLD)
    return [*tensors, gathered + 0]


def data_parallel() -> list[torch.Tensor]:
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.Tanh()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        model(torch.randn(3, 5) + step + dist.get_rank()).pow(2).sum().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def fully_sharded() -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(2, 8)).sum().backward()
        optimizer.step()
    return [parameter.full_tensor() for parameter in model.parameters()]  # type: ignore[attr-defined]


def distributed_tensors() -> list[torch.Tensor]:
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(3)
    one, other = torch.randn(5, 6), torch.randn(6, 7)
    left = distribute_tensor(one, mesh, [Shard(0), Replicate()])
    right = distribute_tensor(copy.copy(other), mesh, [Replicate(), Shard(1)])
    product = left @ right
    moved = product.redistribute(mesh, [Shard(1), Shard(0)])
    return [product.full_tensor(), moved.full_tensor()]


def takes_results_as_they_come() -> list[tuple[int, int]]:
    """Depends on the order of messages: their contents and senders."""
    if dist.get_rank() != 0:
        dist.send(torch.tensor([dist.get_rank()]), 0)
        return []
    found = []
    for _ in range(dist.get_world_size() - 1):
        piece = torch.zeros(1, dtype=torch.int64)
        sender = dist.recv(piece)
        found.append((int(piece), sender))
    return found


def writes_too_early() -> torch.Tensor:
    gradient = torch.full((2,), float(dist.get_rank()))
    work = dist.all_reduce(gradient, async_op=True)
    gradient *= 0.5
    assert work is not None
    work.wait()
    return gradient
