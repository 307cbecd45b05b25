"""Programs that train with torch's parallelisms: what one rank does, and what it returns."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as distributed_checkpoint
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import (
    PipelineStage,
    ScheduleGPipe,
    ScheduleInterleavedZeroBubble,
)
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
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


def mixed_precision() -> Any:
    """FSDP2 that computes in bfloat16 and reduces gradients in float32."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    module = model()
    for block in module:
        fully_shard(block, mp_policy=policy)
    fully_shard(module, mp_policy=policy)
    return train(module, dist.get_rank())


def fully_sharded_by_wrapping() -> Any:
    """The first FSDP, which wraps modules and flattens their parameters."""
    module = FullyShardedDataParallel(
        model(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu")
    )
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    module(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    with FullyShardedDataParallel.summon_full_params(module):
        return [parameter.detach().clone() for parameter in module.parameters()]


def sharded_optimizer() -> Any:
    """DDP whose ranks each keep a part of the optimizer's state."""
    module = DistributedDataParallel(model(), static_graph=True)
    optimizer = ZeroRedundancyOptimizer(module.parameters(), torch.optim.Adam, lr=0.1)
    for step in range(2):
        torch.manual_seed(100 * step + dist.get_rank())
        module(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [parameter.detach() for parameter in module.parameters()]


def compressed_gradients() -> Any:
    """DDP whose hook sends gradients as float16 and goes on in a callback."""
    module = DistributedDataParallel(model())
    module.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return train(module, dist.get_rank())


def uneven_inputs() -> Any:
    """DDP whose ranks have different numbers of batches."""
    module = DistributedDataParallel(model())
    with Join([module]):
        for step in range(1 + dist.get_rank()):
            torch.manual_seed(100 * step + dist.get_rank())
            module(torch.randn(4, 8)).square().mean().backward()
    return [parameter.grad for parameter in module.parameters()]


def zero_bubble_pipeline() -> Any:
    """A pipeline of eight stages, two a rank, that splits the backward."""
    rank, cpu = dist.get_rank(), torch.device("cpu")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 4) for _ in range(8)]
    stages = [PipelineStage(layers[index], index, 8, cpu) for index in (rank, rank + 4)]
    schedule = ScheduleInterleavedZeroBubble(stages, 4, loss_fn=torch.nn.functional.mse_loss)
    batch, target = torch.randn(8, 4), torch.randn(8, 4)
    schedule.step(*([batch] if rank == 0 else []), target=target if rank == 3 else None)
    return [each.grad for stage in stages for each in stage.submod.parameters()]


def sequence_parallel() -> Any:
    """Tensor parallelism that shards activations between its layers, and the loss."""
    mesh = init_device_mesh("cpu", (4,))
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(8, 16),
        torch.nn.Linear(16, 8),
        torch.nn.LayerNorm(8),
        torch.nn.Linear(8, 12),
    )
    plan = {
        "0": ColwiseParallel(),
        "1": RowwiseParallel(output_layouts=Shard(0)),
        "2": SequenceParallel(sequence_dim=0),
        "3": ColwiseParallel(input_layouts=Shard(0), use_local_output=False),
    }
    parallelize_module(module, mesh, plan)
    target = distribute_tensor(torch.randint(0, 12, (8,)), mesh, [Replicate()])
    with loss_parallel():
        loss = torch.nn.functional.cross_entropy(module(torch.randn(8, 8)), target)
        loss.backward()
    return [parameter.grad.full_tensor() for parameter in module.parameters()]


def checkpoint() -> Any:
    """Parameters that were saved by all ranks and loaded into another model."""
    folders = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(folders)
    folder = folders[0]
    saved, loaded = fully_shard(model()), fully_shard(model())
    train(saved, dist.get_rank(), steps=1)
    distributed_checkpoint.save(get_model_state_dict(saved), checkpoint_id=folder)
    state = get_model_state_dict(loaded)
    distributed_checkpoint.load(state, checkpoint_id=folder)
    set_model_state_dict(loaded, state)
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)
    return [parameter.full_tensor() for parameter in loaded.parameters()]


PARALLELISMS = [
    redistribute, data_parallel, fully_sharded_and_tensor_parallel, hybrid_sharded, pipeline,
    fully_sharded_step,
]  # fmt: skip

# And what is built from them.
PROGRAMS = [
    *PARALLELISMS, mixed_precision, fully_sharded_by_wrapping, sharded_optimizer,
    compressed_gradients, uneven_inputs, zero_bubble_pipeline, sequence_parallel, checkpoint,
]  # fmt: skip
