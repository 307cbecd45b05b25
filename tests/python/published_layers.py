"""Layers that ranks share as published reports describe them: right, or with the silent fault."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.utils.checkpoint import checkpoint

from one_device_by_hand import Copy, GatherRows, Sum
from one_device_programs import Program, rows_of, seeded

WIDTH, VOCABULARY, EXPERTS = 8, 12, 4


class Logits(nn.Module):
    """Logits of this rank's part of the vocabulary."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        whole = torch.randn(VOCABULARY, WIDTH)
        self.weight = nn.Parameter(whole.chunk(mesh.size())[mesh.get_local_rank()].clone())
        self.group, self.fault = mesh.get_group(), fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.fault != "input gradient not reduced":
            x = Copy.apply(x, self.group)
        return F.linear(x, self.weight)


class VocabularyLoss(nn.Module):
    """Cross entropy with label smoothing, of logits that are cut along the vocabulary."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        group, each = self.mesh.get_group(), logits.shape[-1]
        largest = logits.detach().amax(-1, keepdim=True)
        dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
        logits = logits - largest
        total = Sum.apply(logits.exp().sum(-1), group).log()
        mine = target - self.mesh.get_local_rank() * each
        is_mine = (mine >= 0) & (mine < each)
        at = logits.gather(-1, mine.clamp(0, each - 1)[:, None])[:, 0] * is_mine
        if self.fault == "target without gradient" and self.mesh.size() > 1:
            at = at.detach()
            dist.all_reduce(at, group=group)
        else:
            at = Sum.apply(at, group)
        every = Sum.apply(logits.sum(-1), group)
        size = each if self.fault == "local vocabulary" else VOCABULARY
        losses = total - 0.9 * at - 0.1 * every / size
        return losses.sum() / len(target)


def vocabulary(fault: str = "") -> Program:
    """A head whose vocabulary is cut, and its loss."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        norm, head = nn.LayerNorm(WIDTH), Logits(mesh, fault)
        model, criterion = nn.Sequential(norm, head), VocabularyLoss(mesh, fault)
        target = torch.arange(10) * 7 % VOCABULARY
        loss = criterion(model(seeded(10, WIDTH)), target)
        loss.backward()
        return loss.detach()

    return program


class SharedKeys(nn.Module):
    """Queries of a rank's heads, and keys and values of one head that all ranks have."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault
        whole = torch.randn(4, WIDTH, WIDTH)
        rank, ranks = mesh.get_local_rank(), mesh.size()
        self.q = nn.Parameter(whole[0].chunk(ranks)[rank].clone())
        self.k, self.v = (nn.Parameter(each[:2].clone()) for each in whole[1:3])
        self.out = nn.Parameter(whole[3].chunk(ranks, 1)[rank].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        group = self.mesh.get_group()
        own = Copy.apply(x, group)
        k, v = (
            F.linear(own, each)[:, None]
            if self.fault == "drift"
            else Copy.apply(F.linear(x, each)[:, None], group)
            for each in (self.k, self.v)
        )
        q = F.linear(own, self.q).unflatten(-1, (-1, 2)).transpose(1, 2)
        scores = (q @ k.transpose(-1, -2)).softmax(-1)
        return Sum.apply(F.linear((scores @ v).transpose(1, 2).flatten(2), self.out), group)


def multi_query(fault: str = "") -> Program:
    """Multi-query attention under tensor parallelism."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.LayerNorm(WIDTH), SharedKeys(mesh, fault))
        loss = (model(seeded(3, 4, WIDTH)) * seeded(3, 4, WIDTH, seed=9)).sum()
        loss.backward()
        return loss.detach()

    return program


class Grouped(nn.Module):
    """Heads of which two share their keys; a rank has some of the queries and all keys."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault
        self.inputs = nn.Linear(WIDTH, 2 * WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = Copy.apply(x, self.mesh.get_group())
        q, k, v = self.inputs(x).split([WIDTH, WIDTH // 2, WIDTH // 2], -1)
        q, k, v = (each.unflatten(-1, (-1, 2)).transpose(1, 2) for each in (q, k, v))
        ranks, rank = self.mesh.size(), self.mesh.get_local_rank()
        if self.fault == "repeats heads" and ranks > 1:
            k, v = (each.repeat(1, 2, 1, 1) for each in (k, v))
        else:
            k, v = (each.repeat_interleave(2, 1) for each in (k, v))
        q, k, v = (each.chunk(ranks, 1)[rank] for each in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return GatherHeads.apply(y, self.mesh)


class GatherHeads(torch.autograd.Function):
    """The heads of all ranks; each gradient is whole on each rank."""

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
        ctx.mesh = mesh
        parts = [torch.empty_like(y) for _ in range(mesh.size())]
        dist.all_gather(parts, y.contiguous(), group=mesh.get_group())
        return torch.cat(parts, -1)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient.chunk(ctx.mesh.size(), -1)[ctx.mesh.get_local_rank()].contiguous(), None


def grouped(fault: str = "") -> Program:
    """Grouped-query attention by heads."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.LayerNorm(WIDTH), Grouped(mesh, fault))
        loss = model(seeded(3, 4, WIDTH)).square().sum()
        loss.backward()
        dist.all_reduce(model[1].inputs.weight.grad, group=mesh.get_group())
        return loss.detach()

    return program


class Router(nn.Module):
    """Two experts a token, a loss that balances them, and a bias that follows their load."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault
        self.weight = nn.Parameter(torch.randn(EXPERTS, WIDTH))
        self.register_buffer("load", torch.zeros(EXPERTS))
        self.register_buffer("bias", torch.zeros(EXPERTS))
        self.experts = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH))
        self.balance = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ranks = self.mesh.size()
        scores = F.softmax(x @ self.weight.t(), -1)
        chosen = (scores.detach() + self.bias).topk(2).indices
        counts = torch.bincount(chosen.flatten(), minlength=EXPERTS).to(x.dtype)
        own = counts.clone()
        dist.all_reduce(counts, group=self.mesh.get_group())
        is_again = torch._C._current_graph_task_id() != -1
        if not is_again or self.fault == "counts again":
            self.load += own if self.fault == "own counts" else counts
        every = len(x) * ranks
        balance = (counts * scores.sum(0)).sum() / every**2
        if self.fault == "local tokens" and ranks > 1:
            balance = balance * len(x) / every
        self.balance = balance
        gates = torch.zeros_like(scores).scatter(1, chosen, scores.gather(1, chosen))
        return torch.einsum("te,tw,eow->to", gates, x, self.experts)


def routing(fault: str = "") -> Program:
    """Experts that all ranks have, each for its own tokens; recomputed in the backward pass."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        router = Router(mesh, fault)
        model = nn.Sequential(nn.LayerNorm(WIDTH), router)
        x = rows_of(mesh, "dp", seeded(16, WIDTH))
        y = checkpoint(model, x, use_reentrant=False) if mesh.size() > 1 else model(x)
        loss = (y * seeded(WIDTH)).sum() / 16 + router.balance
        loss.backward()
        router.bias += 0.01 * torch.sign(router.load.mean() - router.load)
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        return loss.detach()

    return program


def towers(fault: str = "") -> Program:
    """A tower whose output is cut along the sequence for the layers behind it."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        tower, body = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        model = nn.ModuleDict({"tower": tower, "body": body})
        forward = Towers(model, mesh, fault)
        (forward(seeded(2, 8, WIDTH)) * seeded(2, 8, WIDTH, seed=9)).sum().backward()

    return program


class Towers(nn.Module):
    def __init__(self, parts: nn.ModuleDict, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.parts, self.mesh, self.fault = parts, mesh, fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.parts["tower"](x)
        if self.fault == "detached" and self.mesh.size() > 1:
            x = x.detach()
        x = Copy.apply(x, self.mesh.get_group())
        x = x.chunk(self.mesh.size(), 1)[self.mesh.get_local_rank()]
        self.parts["body"].weight.register_hook(self._added)
        self.parts["body"].bias.register_hook(self._added)
        return GatherRows.apply(self.parts["body"](x), self.mesh, "")

    def _added(self, gradient: torch.Tensor) -> torch.Tensor:
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=self.mesh.get_group())
        return gradient


def packed(fault: str = "") -> Program:
    """Two documents of other lengths in a row, whose places begin again."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(8, WIDTH), nn.Linear(WIDTH, WIDTH))
        places = torch.tensor([0, 1, 2, 0, 1, 2, 3, 4])
        mine = rows_of(mesh, "cp", places)
        if fault == "places of one document":
            mine = torch.arange(len(mine)) + int(mine[0])
        (model(mine) * rows_of(mesh, "cp", seeded(8, WIDTH))).sum().backward()
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=mesh.get_group())

    return program


def selected(fault: str = "") -> Program:
    """Tokens of a batch that are cut along the sequence, chosen by their number in the batch."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH))
        rows, length = 2, 8
        mine = seeded(rows, length, WIDTH).chunk(mesh.size(), 1)[mesh.get_local_rank()]
        each = mine.shape[1]
        number = torch.arange(rows * each)
        row, place = number // each, number % each
        begin = mesh.get_local_rank() * each
        is_right = fault != "right for one row"
        every = (row * length + place if is_right else number) + begin
        weights = seeded(rows * length, seed=3)[every.clamp(max=rows * length - 1)]
        y = model(mine) * weights.view(rows, each, 1)
        y.square().sum().backward()
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=mesh.get_group())

    return program


class Ends(nn.Module):
    """An embedding that is also the head, on the first and the last stage."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.embed = nn.Parameter(torch.randn(VOCABULARY, WIDTH))
        self.mesh = mesh

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits; both stages compute their part of the two."""
        mesh = self.mesh
        first, last = mesh.get_local_rank() == 0, mesh.get_local_rank() == mesh.size() - 1
        hidden = F.embedding(x, self.embed)
        hidden = Sum.apply(hidden if first else hidden * 0, mesh.get_group())
        head = self.embed if last else self.embed * 0
        return Sum.apply(F.linear(Copy.apply(torch.tanh(hidden), mesh.get_group()), head),
                         mesh.get_group())  # fmt: skip


def tied(fault: str = "") -> Program:
    """Tied weights on two stages, whose gradients belong together."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = Ends(mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = F.cross_entropy(model(torch.arange(9)), torch.arange(9) + 1)
        loss.backward()
        if fault != "separate gradients":
            dist.all_reduce(model.embed.grad, group=mesh.get_group())
        optimizer.step()

    return program


def stages(fault: str = "") -> Program:
    """A pipeline that divides the loss by the number of micro-batches, once."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        rank, ranks = mesh.get_local_rank(), mesh.size()
        every = [nn.Linear(WIDTH, WIDTH) for _ in range(4)]
        numbers = range(rank * 4 // ranks, (rank + 1) * 4 // ranks)
        if fault == "a layer twice" and rank == 1:
            numbers = range(1, 3)
        model = Stage({str(index): every[index] for index in numbers})
        micro = 2
        for part in seeded(8, WIDTH).chunk(micro):
            x = part
            if rank > 0:
                x = torch.empty_like(part)
                dist.recv(x, group=mesh.get_group(), group_src=rank - 1)
            x.requires_grad_(rank > 0)
            y = model(x)
            if rank == ranks - 1:
                (y.square().sum() / micro).backward()
            else:
                dist.send(y.detach(), group=mesh.get_group(), group_dst=rank + 1)
                gradient = torch.empty_like(y)
                dist.recv(gradient, group=mesh.get_group(), group_src=rank + 1)
                y.backward(gradient / micro if fault == "scales again" else gradient)
            if rank > 0:
                assert x.grad is not None
                dist.send(x.grad, group=mesh.get_group(), group_dst=rank - 1)

    return program


class Stage(nn.Module):
    def __init__(self, layers: dict[str, nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values():
            x = torch.tanh(layer(x))
        return x
