"""Programs by packages of PyTorch's makers, and by Lightning's Trainer, that run as processes of
gloo and on ranks, like those of framework_programs.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def of_lightning(steps: int, rows: torch.Tensor) -> list[Any]:
    """DDP by Lightning's Trainer, with a loader that it splits."""
    from lightning.pytorch import LightningModule, Trainer, seed_everything

    seed_everything(0, verbose=False)

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
            self.found: list[torch.Tensor] = []

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            loss: torch.Tensor = self.network(batch).pow(2).mean()
            self.found.append(self.all_gather(loss.detach()))
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    module = Module()
    trainer = Trainer(
        accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", max_steps=steps,
        gradient_clip_val=1.0, logger=False, enable_checkpointing=False, barebones=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True))
    return [*module.found, *(each.detach() for each in module.parameters())]


def of_torchao(steps: int, rows: torch.Tensor) -> list[Any]:
    """AdamW of torchao with states of 8 bits, over FSDP2."""
    from torch.distributed.fsdp import fully_shard
    from torchao.optim import AdamW8bit

    # Otherwise gloo's processes compile the step, which a compiler rounds in its own way.
    torch.compiler.set_stance("force_eager")
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(8, 1024), nn.GELU(), nn.Linear(1024, 8))
    fully_shard(network, mesh=dist.init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = AdamW8bit(network.parameters(), lr=0.01)
    found: list[Any] = []
    for batch in rows.view(steps, -1, 8):
        loss = network(batch[dist.get_rank() :: dist.get_world_size()]).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.detach())
    return [*found, *(each.detach().full_tensor() for each in network.parameters())]


def of_torchft(steps: int, rows: torch.Tensor) -> list[Any]:
    """torchft's group, which is made anew for each step, and a checkpoint that goes over it."""
    from torchft.checkpointing.pg_transport import PGTransport
    from torchft.process_group import ProcessGroupGloo

    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    group = ProcessGroupGloo(timeout=timedelta(seconds=60))
    store = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    weight = torch.zeros(8)
    for step, batch in enumerate(rows.view(steps, -1, 8)):
        group.configure(f"{store}/quorum/{step}", f"replica {rank}", rank, size)
        gradient = (batch[rank::size] - weight).mean(0)
        group.allreduce([gradient], dist.AllreduceOptions()).wait()
        weight = weight + 0.1 * gradient / size
    timeout = timedelta(seconds=60)
    transport: Any = PGTransport(group, timeout, torch.device("cpu"))
    if rank == 0:
        state = {"weight": weight * 2, "step": steps}
        transport.send_checkpoint([1], steps, state, timeout)
    else:
        state = transport.recv_checkpoint(0, transport.metadata(), steps, timeout)
    return [weight, state["weight"], state["step"]]


def of_torchrec(steps: int, rows: torch.Tensor) -> list[Any]:
    """Embedding tables that torchrec's planner cuts over the ranks."""
    from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor
    from torchrec.distributed.model_parallel import DistributedModelParallel

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    names = ["user", "item", "shop"]
    tables = [EmbeddingBagConfig(name=f"of_{name}", embedding_dim=8, num_embeddings=64,
                                 feature_names=[name]) for name in names]  # fmt: skip
    bags = EmbeddingBagCollection(tables=tables, device=torch.device("cpu"))
    model = DistributedModelParallel(bags, device=torch.device("cpu"))
    found: list[Any] = []
    draws = torch.Generator().manual_seed(3 + rank)
    for _ in range(steps):
        lengths = torch.randint(1, 4, (len(names) * 4,), generator=draws)
        values = torch.randint(0, 64, (int(lengths.sum()),), generator=draws)
        embedded = model(KeyedJaggedTensor(names, values, lengths=lengths)).values()
        embedded.pow(2).mean().backward()
        found.append(embedded.detach().clone())
    return found


def of_spmd_types(steps: int, rows: torch.Tensor) -> list[Any]:
    """A layer whose columns and rows are cut over the ranks, in the types of spmd_types."""
    import spmd_types as spmd
    from spmd_types.checker import typecheck

    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    tp = mesh.get_group("tp")
    torch.manual_seed(0)
    first, second = torch.randn(8, 16).chunk(size, 1)[rank], torch.randn(16, 8).chunk(size)[rank]
    first, second = first.clone().requires_grad_(), second.clone().requires_grad_()
    found: list[Any] = []
    batches = [batch.clone() for batch in rows.view(steps, -1, 8)]
    with spmd.set_current_mesh(mesh), typecheck():
        spmd.assert_type(first, {tp: spmd.S(1)})
        spmd.assert_type(second, {tp: spmd.S(0)})
        for batch in batches:
            spmd.assert_type(batch, {tp: spmd.R})
            hidden = nn.functional.gelu(batch @ first)
            whole = spmd.all_reduce(hidden @ second, tp, src=spmd.P, dst=spmd.I)
            loss = whole.pow(2).mean()
            loss.backward()
            found.append(loss.detach())
    return [*found, first.grad, second.grad]
