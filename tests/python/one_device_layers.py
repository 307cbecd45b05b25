"""Programs whose layers have an order of their own: fused weights, vocabularies, zigzags."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

from one_device_by_hand import Copy, Sum, gathered
from one_device_programs import VOCABULARY, WIDTH, Net, Program, rows_of, seeded, tokens


class Fused(nn.Module):
    """Attention whose queries, keys and values are one weight. A rank has some heads of each."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        whole, out = nn.Linear(WIDTH, 3 * WIDTH).weight.detach(), nn.Linear(WIDTH, WIDTH).weight
        ranks, rank = mesh.size(), mesh.get_local_rank()
        each = [part.chunk(ranks)[rank] for part in whole.chunk(3)]
        mine = whole.chunk(ranks)[rank] if fault == "cut as one" else torch.cat(each)
        self.weight, self.group = nn.Parameter(mine.clone()), mesh.get_group()
        self.out = nn.Parameter(out.detach().chunk(ranks, 1)[rank].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = Copy.apply(x, self.group)
        rows, length, _ = x.shape
        heads = [
            each.reshape(rows, length, -1, 2).transpose(1, 2)
            for each in F.linear(x, self.weight).chunk(3, -1)
        ]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        y = y.transpose(1, 2).reshape(rows, length, -1)
        return Sum.apply(F.linear(y, self.out), self.group)


def fused(fault: str = "") -> Program:
    """A step of AdamW with a fused weight."""

    def program(mesh: DeviceMesh) -> float:
        torch.manual_seed(0)
        model = nn.Sequential(nn.LayerNorm(WIDTH), Fused(mesh["tp"], fault))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        loss = model(seeded(4, 6, WIDTH)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return program


class Vocabulary(nn.Module):
    """An embedding of which each rank has some rows."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        each = VOCABULARY // mesh.size()
        self.first, self.group, self.fault = mesh.get_local_rank() * each, mesh.get_group(), fault
        self.weight = nn.Parameter(torch.randn(VOCABULARY, WIDTH)[self.first :][:each].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x - self.first
        others = (x < 0) | (x >= len(self.weight))
        rows = F.embedding(x.masked_fill(others, 0), self.weight)
        if self.fault != "not masked":
            rows = rows.masked_fill(others[..., None], 0)
        return Sum.apply(rows, self.group)


def vocabulary(fault: str = "") -> Program:
    """A cut vocabulary."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(Vocabulary(mesh["tp"], fault), nn.LayerNorm(WIDTH))
        loss = (model(tokens()) * seeded(WIDTH)).square().mean()
        loss.backward()
        return loss.detach()

    return program


class GatherAll(torch.autograd.Function):
    """The whole of a sequence; each rank's gradient of it is a part of a sum."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
        ctx.mesh = mesh
        return gathered(x, mesh)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=ctx.mesh.get_group())
        return gradient.chunk(ctx.mesh.size(), 1)[ctx.mesh.get_local_rank()].clone(), None


class Context(nn.Module):
    """Causal attention of a rank's part of the sequence to all of it."""

    def __init__(self, mesh: DeviceMesh, order: list[torch.Tensor], fault: str) -> None:
        super().__init__()
        self.mesh, self.order, self.fault = mesh, order, fault
        self.inputs, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mine = self.order[self.mesh.get_local_rank()]
        q, k, v = self.inputs(x[:, mine]).chunk(3, -1)
        k, v = (GatherAll.apply(each, self.mesh) for each in (k, v))
        keys = torch.cat(self.order)
        queries = torch.arange(len(mine)) if self.fault == "queries from 0" else mine
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH)
        scores = scores.masked_fill(keys[None, None] > queries[None, :, None], -math.inf)
        return self.out(torch.softmax(scores, -1) @ v)


def context(fault: str = "", is_zigzag: bool = False) -> Program:
    """Context parallelism that gathers keys and values; a zigzag gives ranks the same work."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        ranks = mesh["cp"].size()
        parts = torch.arange(8).chunk(2 * ranks)
        pairs = [
            (parts[rank], parts[-1 - rank]) if is_zigzag else (parts[2 * rank], parts[2 * rank + 1])
            for rank in range(ranks)
        ]
        model = Context(mesh["cp"], [torch.cat(pair) for pair in pairs], fault)
        loss = model(seeded(2, 8, WIDTH)).square().sum()
        loss.backward()
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=mesh["cp"].get_group())
        return loss.detach()

    return program


def masked(fault: str = "") -> Program:
    """Rows with other numbers of tokens that count."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model: Any = DistributedDataParallel(Net(), process_group=mesh["dp"].get_group())
        every = tokens()
        every[5, 2:] = every[6, 1:] = every[0, 4:] = -100
        batch = rows_of(mesh, "dp", every)
        logits = model(batch[:, :-1].clamp(min=0)).flatten(0, 1)
        wanted = batch[:, 1:].flatten()
        count = (wanted != -100).sum()
        if fault != "own tokens":
            dist.all_reduce(count, group=mesh["dp"].get_group())
            count = count / mesh.size()
        (F.cross_entropy(logits, wanted, reduction="sum") / count).backward()

    return program


def ignored(mesh: DeviceMesh) -> None:
    """FSDP2 leaves a parameter to the program, which forgets it."""
    torch.manual_seed(0)
    model = Net()
    fully_shard(model, mesh=mesh["dp"], ignored_params={model.norm.weight})
    batch = rows_of(mesh, "dp", tokens())
    F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()).backward()


def dropout(mesh: DeviceMesh) -> torch.Tensor:
    """Random numbers, which each rank draws for its own rows."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout(0.5), nn.Linear(WIDTH, WIDTH))
    replicas = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
    loss = replicas(rows_of(mesh, "dp", seeded(8, WIDTH))).square().mean()
    loss.backward()
    return loss.detach()
