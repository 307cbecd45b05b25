"""Programs that build what their mesh asks for: healthy ones, and such with one silent fault."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DeviceMesh, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

import simmesh

VOCABULARY, WIDTH, HEADS, LENGTH, ROWS = 16, 8, 2, 4, 8
Program = Callable[[DeviceMesh], Any]


def seeded(*shape: int, seed: int = 5) -> torch.Tensor:
    """Random numbers that are the same on each rank."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tokens(rows: int = ROWS) -> torch.Tensor:
    """Token numbers, one more than LENGTH a row."""
    generator = torch.Generator().manual_seed(7)
    return torch.randint(VOCABULARY, (rows, LENGTH + 1), generator=generator)


def rows_of(mesh: DeviceMesh, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """The rows of a tensor that belong to this rank."""
    part = mesh[name]
    return tensor[simmesh.rows_of(part.get_local_rank(), part.size(), len(tensor))]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, _ = x.shape
        heads = [
            each(x).view(rows, length, -1, WIDTH // HEADS).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        ]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(rows, length, -1))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2, self.feed = nn.RMSNorm(WIDTH), FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Model(nn.Module):
    def __init__(self, layers: int = 1) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def tensor_parallel(model: Model, mesh: DeviceMesh) -> None:
    """Cuts a model over a mesh dim as torchtitan does, with sequence and loss parallelism."""
    parallelize_module(model, mesh, {
        "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(
            input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False
        ),
    })  # fmt: skip
    for layer in model.layers:
        parallelize_module(layer, mesh, {
            "norm1": SequenceParallel(),
            "attention": PrepareModuleInput(
                input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
            ),
            "attention.q": ColwiseParallel(),
            "attention.k": ColwiseParallel(),
            "attention.v": ColwiseParallel(),
            "attention.out": RowwiseParallel(output_layouts=Shard(1)),
            "norm2": SequenceParallel(),
            "feed": PrepareModuleInput(
                input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
            ),
            "feed.gate": ColwiseParallel(),
            "feed.up": ColwiseParallel(),
            "feed.down": RowwiseParallel(output_layouts=Shard(1)),
        })  # fmt: skip


def transformer(mesh: DeviceMesh) -> torch.Tensor:
    """A step of a transformer under the dims that the mesh has: ddp, dp (FSDP2) and tp."""
    torch.manual_seed(0)
    names = mesh.mesh_dim_names or ()
    model: nn.Module = Model()
    has_tp = "tp" in names and mesh["tp"].size() > 1
    if has_tp:
        tensor_parallel(model, mesh["tp"])  # type: ignore[arg-type]
    if "dp" in names:
        for layer in model.layers:  # type: ignore[union-attr]
            fully_shard(layer, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    if "ddp" in names:
        model = DistributedDataParallel(model, process_group=mesh["ddp"].get_group())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = next((name for name in ("dp", "ddp") if name in names), None)
    batch = tokens() if data is None else rows_of(mesh, data, tokens())
    with loss_parallel() if has_tp else torch.enable_grad():
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


class Net(nn.Module):
    """Two layers between an embedding and a head, for programs that reduce by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norm, self.first = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.gelu(self.first(self.norm(self.embed(x)))))


def data_parallel(fault: str = "", rows: int = ROWS) -> Program:
    """Data parallelism by hand: a mean over all rows, and gradients that are added up."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        rank, group = mesh["dp"].get_local_rank(), mesh["dp"].get_group()
        torch.manual_seed(rank if fault == "own seeds" else 0)
        model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        every = tokens(rows)
        mine = every[: len(every) // mesh.size()] if fault == "same rows" else rows_of(
            mesh, "dp", every
        )  # fmt: skip
        if fault == "rows dropped" and mesh.size() > 1:
            mine = mine[: rows // mesh.size()]
        logits = model(mine[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, mine[:, 1:].flatten(), reduction="sum")
        is_local = fault == "local counts"
        loss = loss / ((len(mine) if is_local else rows) * LENGTH)
        loss.backward()
        for name, parameter in model.named_parameters():
            if fault != f"no sum of {name}":
                assert parameter.grad is not None
                dist.all_reduce(parameter.grad, group=group)
                if is_local:
                    parameter.grad /= mesh.size()
        scale_gradients(model, mesh, fault)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        if fault == "decay on rank 1" and rank == 1:
            with torch.no_grad():
                model.first.weight *= 0.99
        return loss.detach()

    return program


def scale_gradients(model: nn.Module, mesh: DeviceMesh, fault: str) -> None:
    """Injects faults of reduced gradients."""
    for parameter in model.parameters() if mesh.size() > 1 else ():
        assert parameter.grad is not None
        if fault == "averaged sums":
            parameter.grad /= mesh.size()
        elif fault == "three quarters":
            parameter.grad *= 0.75
        elif fault == "bfloat16 reduction":
            parameter.grad = parameter.grad.bfloat16().float()


def wrapped(fault: str = "") -> Program:
    """DDP and FSDP2, used right or wrong."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model: Any = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if fault == "inner mesh":
            fully_shard(model, mesh=mesh["fsdp"])
        elif fault == "stale optimizer":
            fully_shard(model, mesh=mesh["dp"])
        else:
            model = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
        if fault != "stale optimizer":
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = "ddp" if fault == "inner mesh" else "dp"
        batch = rows_of(mesh, data, tokens())
        with model.no_sync() if fault == "no_sync" else torch.enable_grad():
            logits = model(batch[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return program


def batch_norm(mesh: DeviceMesh) -> torch.Tensor:
    """A batch norm, which looks at the rows of its own rank."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, 1))
    replicas = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
    loss = replicas(rows_of(mesh, "dp", seeded(8, WIDTH))).square().mean()
    loss.backward()
    return loss.detach()


def local_means(mesh: DeviceMesh) -> torch.Tensor:
    """A mean of means, over numbers of ranks that may be no power of two."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Net(), process_group=mesh["dp"].get_group())
    batch = rows_of(mesh, "dp", tokens(6))
    loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    loss.backward()
    return loss.detach()


def accumulation(mesh: DeviceMesh) -> torch.Tensor:
    """Micro-batches, which have other rows on ranks than on one device."""
    torch.manual_seed(0)
    model = Net()
    for layer in (model.first, model):
        fully_shard(layer, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    total = torch.zeros(())
    parts = rows_of(mesh, "dp", tokens()).chunk(2)
    for index, part in enumerate(parts):
        model.set_requires_gradient_sync(index == len(parts) - 1)  # type: ignore[operator]
        logits = model(part[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, part[:, 1:].flatten()) / len(parts)
        loss.backward()
        total = total + loss.detach()
    optimizer.step()
    return total


class Stack(nn.Module):
    """Four layers, or those of a stage."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({str(index): nn.Linear(WIDTH, WIDTH) for index in range(4)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values():
            x = torch.tanh(layer(x))
        return x


def pipelining(mesh: DeviceMesh) -> torch.Tensor | None:
    """A step of PyTorch's 1F1B schedule with four micro-batches."""
    torch.manual_seed(0)
    rank, ranks = mesh["pp"].get_local_rank(), mesh["pp"].size()
    model = Stack()
    for name in list(model.layers):
        if int(name) * ranks // 4 != rank:
            del model.layers[name]
    stage = PipelineStage(model, rank, ranks, torch.device("cpu"), group=mesh["pp"].get_group())
    schedule = Schedule1F1B(
        stage, 4, loss_fn=lambda y, wanted: (y - wanted).square().sum(), scale_grads=False
    )
    losses: list[torch.Tensor] = []
    inputs = (seeded(8, WIDTH),) if rank == 0 else ()
    if rank == ranks - 1:
        schedule.step(*inputs, target=seeded(8, WIDTH, seed=3), losses=losses)
    else:
        schedule.step(*inputs)
    return torch.stack(losses).sum() if losses else None
