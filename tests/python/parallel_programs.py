"""Programs that train with torch's parallelisms: what one rank does, and what it returns."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel


class Block(torch.nn.Module):
    """Two linear layers with a nonlinearity between them, and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


def model() -> torch.nn.Sequential:
    """Three blocks with the same parameters on every rank."""
    torch.manual_seed(0)
    return torch.nn.Sequential(Block(), Block(), Block())


def train(module: torch.nn.Module, rank: int, steps: int = 2) -> list[Any]:
    """Parameters after ``steps`` of AdamW on a batch that is the rank's own."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    for step in range(steps):
        torch.manual_seed(100 * step + rank)
        module(torch.randn(4, 8)).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return [
        parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter.detach()
        for parameter in module.parameters()
    ]


def redistribute() -> Any:
    """Every placement of a 2 x 2 mesh to every other one."""
    mesh = init_device_mesh("cpu", (2, 2))
    full = torch.arange(48.0).reshape(8, 6)
    tensor = distribute_tensor(full, mesh, [Shard(0), Shard(1)])
    for placements in ([Replicate(), Shard(0)], [Shard(1), Replicate()], [Shard(1), Shard(0)]):
        tensor = tensor.redistribute(mesh, placements)
        assert torch.equal(tensor.full_tensor(), full)
    partial = tensor.redistribute(mesh, [Replicate(), Replicate()]).to_local()
    summed = DTensor.from_local(partial, mesh, [Partial(), Partial()])
    return summed.redistribute(mesh, [Shard(0), Replicate()]).to_local()


def data_parallel() -> Any:
    """DDP with buckets of one parameter each: its C++ reducer starts the collectives."""
    return train(DistributedDataParallel(model(), bucket_cap_mb=1e-5), dist.get_rank())


def fully_sharded_and_tensor_parallel() -> Any:
    """FSDP2 over a tensor-parallel model on a 2 x 2 mesh."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    module = model()
    for block in module:
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(module, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank() // 2)
    module(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    return [parameter.full_tensor() for parameter in module.parameters()]


def hybrid_sharded() -> Any:
    """FSDP2 that shards over one dimension of the mesh and replicates over the other."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    module = model()
    for block in module:
        fully_shard(block, mesh=mesh)
    fully_shard(module, mesh=mesh)
    return train(module, dist.get_rank(), steps=1)


def pipeline() -> Any:
    """A pipeline of four stages, whose ranks send and receive."""
    rank = dist.get_rank()
    torch.manual_seed(rank)
    stage = PipelineStage(torch.nn.Linear(4, 4), rank, 4, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 4, loss_fn=torch.nn.functional.mse_loss)
    torch.manual_seed(10)
    batch, target = torch.randn(8, 4), torch.randn(8, 4)
    if rank == 0:
        schedule.step(batch)
    elif rank == 3:
        losses: list[torch.Tensor] = []
        schedule.step(target=target, losses=losses)
    else:
        schedule.step()
    return [parameter.grad for parameter in stage.submod.parameters()]


def fully_sharded_step() -> Any:
    """One step of FSDP2 with every block sharded."""
    module = model()
    for block in module:
        fully_shard(block)
    fully_shard(module)
    return train(module, dist.get_rank(), steps=1)


PROGRAMS = [redistribute, data_parallel, fully_sharded_and_tensor_parallel, hybrid_sharded, pipeline, fully_sharded_step]
