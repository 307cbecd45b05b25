"""Programs that cut tensors, reduce and exchange by hand: healthy ones, and such with one silent
fault.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh

from one_device_programs import LENGTH, VOCABULARY, WIDTH, Program, rows_of, seeded, tokens


class Sum(torch.autograd.Function):
    """Adds up in the forward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


class Copy(torch.autograd.Function):
    """Adds up in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class Columns(nn.Module):
    """The rows of a weight that belong to a rank, so columns of the result."""

    def __init__(self, whole: nn.Linear, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.group, self.fault = mesh.get_group(), fault
        rank, ranks = mesh.get_local_rank(), mesh.size()
        self.weight = nn.Parameter(whole.weight.detach().chunk(ranks)[rank].clone())
        self.bias = nn.Parameter(whole.bias.detach().chunk(ranks)[rank].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.fault != "no sum in backward":
            x = Copy.apply(x, self.group)
        return F.linear(x, self.weight, self.bias)


class Rows(nn.Module):
    """The columns of a weight that belong to a rank: results are parts of sums."""

    def __init__(self, whole: nn.Linear, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault
        rank, ranks = mesh.get_local_rank(), mesh.size()
        self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, 1)[rank].clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = self.bias
        if self.fault == "bias on each":
            return Sum.apply(F.linear(x, self.weight, bias), self.mesh.get_group())
        y = F.linear(x, self.weight)
        if self.fault == "bias divided":
            return Sum.apply(y + bias / self.mesh.size(), self.mesh.get_group())
        if self.fault != "no sum in forward":
            y = Sum.apply(y, self.mesh.get_group())
        return F.gelu(y + bias)


class Cut(nn.Module):
    """A layer of Megatron: norm, columns, rows."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        first, second = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.columns, self.rows = Columns(first, mesh, fault), Rows(second, mesh, fault)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.embed(x))
        return self.head(self.rows(F.silu(self.columns(x))))


def megatron(fault: str = "") -> Program:
    """Tensor parallelism by hand, on plain tensors."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = Cut(mesh["tp"], fault)
        batch = tokens()
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        if fault == "norm of own pieces":
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        return loss.detach()

    return program


class ScatterRows(torch.autograd.Function):
    """This rank's part of a sequence; the gradient is gathered."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
        ctx.mesh = mesh
        return x.chunk(mesh.size(), 1)[mesh.get_local_rank()].clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gathered(gradient, ctx.mesh), None


class GatherRows(torch.autograd.Function):
    """The whole of a sequence; of the gradient, which is the same on each rank, this rank's."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, mesh: DeviceMesh, order: str) -> torch.Tensor:
        ctx.mesh = mesh
        return gathered(x, mesh, order)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        mesh = ctx.mesh
        return gradient.chunk(mesh.size(), 1)[mesh.get_local_rank()].clone(), None, None


def gathered(x: torch.Tensor, mesh: DeviceMesh, order: str = "") -> torch.Tensor:
    """The parts of a sequence of all ranks, in their order or in the reverse."""
    parts = [torch.empty_like(x) for _ in range(mesh.size())]
    dist.all_gather(parts, x.contiguous(), group=mesh.get_group())
    return torch.cat(parts[::-1] if order == "reversed" else parts, 1)


class Sequence(nn.Module):
    """A norm on parts of the sequence."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mesh = self.mesh
        places = torch.arange(LENGTH).chunk(mesh.size())[mesh.get_local_rank()]
        if self.fault == "places from 0":
            places = torch.arange(LENGTH // mesh.size())
        x = ScatterRows.apply(self.embed(x), mesh) + self.places(places)
        x = torch.tanh(self.norm(x))
        order = "reversed" if self.fault == "reversed gather" else ""
        return self.head(GatherRows.apply(x, mesh, order))


def sequence_parallel(fault: str = "") -> Program:
    """Sequence parallelism by hand."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = Sequence(mesh["tp"], fault)
        batch = tokens()
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        for name, parameter in model.named_parameters():
            if name.startswith(("norm", "places")) and fault != f"no sum of {name}":
                assert parameter.grad is not None
                dist.all_reduce(parameter.grad, group=mesh["tp"].get_group())
        return loss.detach()

    return program


class Exchange(torch.autograd.Function):
    """Rows sent to other ranks; gradients go back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, sent: Any, received: Any, group: Any) -> torch.Tensor:
        ctx.splits = (sent, received, group)
        y = x.new_empty(sum(received), *x.shape[1:])
        dist.all_to_all_single(y, x.contiguous(), received, sent, group=group)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        sent, received, group = ctx.splits
        x = gradient.new_empty(sum(sent), *gradient.shape[1:])
        dist.all_to_all_single(x, gradient.contiguous(), sent, received, group=group)
        return x, None, None, None


EXPERTS = 4


class Experts(nn.Module):
    """A router, and the experts of this rank, named by their number among all."""

    def __init__(self, mesh: DeviceMesh, fault: str) -> None:
        super().__init__()
        self.mesh, self.fault = mesh, fault
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        every = [nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS)]
        each = EXPERTS // mesh.size()
        self.mine = range(mesh.get_local_rank() * each, (mesh.get_local_rank() + 1) * each)
        self.experts = nn.ModuleDict({str(index): every[index] for index in self.mine})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        group = self.mesh.get_group()
        weight, chosen = F.softmax(self.router(x), -1).max(-1)
        order = torch.argsort(chosen, stable=True)
        counts = torch.bincount(chosen, minlength=EXPERTS)
        everyone = torch.empty(self.mesh.size() * EXPERTS, dtype=torch.int64)
        dist.all_gather_into_tensor(everyone, counts, group=group)
        everyone = everyone.view(self.mesh.size(), EXPERTS)
        sent = counts.view(self.mesh.size(), -1).sum(1).tolist()
        here = everyone[:, self.mine.start : self.mine.stop]
        received = here.sum(1).tolist()
        rows = Exchange.apply(x[order], sent, received, group)
        owners = torch.cat([
            torch.full((int(count),), index)
            for line in here for index, count in zip(self.mine, line)
        ]) if len(rows) else torch.empty(0, dtype=torch.int64)  # fmt: skip
        result = torch.zeros_like(rows)
        for index in self.mine:
            at = (owners == index).nonzero()[:, 0]
            result = result.index_copy(0, at, self.experts[str(index)](rows[at]))
        back = Exchange.apply(result, received, sent, group)
        if self.fault == "wrong way back":
            order = order.flip(0)
        y = torch.zeros_like(x).index_copy(0, order, back)
        return F.gelu(y * weight[:, None])


def expert_parallel(fault: str = "") -> Program:
    """Experts on the ranks of the data: tokens travel, gradients of the rest are added up."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), Experts(mesh["ep"], fault))
        x = rows_of(mesh, "ep", seeded(32, WIDTH))
        loss = model(x).square().sum() / (32 * WIDTH)
        loss.backward()
        for name, parameter in model.named_parameters():
            if "experts" not in name and fault != f"no sum of {name}":
                assert parameter.grad is not None
                dist.all_reduce(parameter.grad, group=mesh["ep"].get_group())
        return loss.detach()

    return program


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention on one device."""
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v


def rotated(x: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
    """The tensor of the rank before, while this rank's goes to the next."""
    rank, ranks = mesh.get_local_rank(), mesh.size()
    y = torch.empty_like(x)
    sent = dist.P2POp(
        dist.isend, x.contiguous(), group=mesh.get_group(), group_peer=(rank + 1) % ranks
    )
    received = dist.P2POp(dist.irecv, y, group=mesh.get_group(), group_peer=(rank - 1) % ranks)
    for work in dist.batch_isend_irecv([sent, received]):
        work.wait()
    return y


class Ring(torch.autograd.Function):
    """Attention on parts of a sequence, whose keys and values go around."""

    @staticmethod
    def forward(
        ctx: Any,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mesh: DeviceMesh,
        is_stale: bool,
    ) -> torch.Tensor:
        ctx.mesh, ctx.is_stale = mesh, is_stale
        largest = torch.full((*q.shape[:-1], 1), -math.inf)
        total, weight = torch.zeros_like(q), torch.zeros_like(largest)
        own = (k, v)
        for _ in range(mesh.size()):
            scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
            above = torch.maximum(largest, scores.amax(-1, keepdim=True))
            old, new = (largest - above).exp(), (scores - above).exp()
            total, weight = total * old + new @ v, weight * old + new.sum(-1, keepdim=True)
            largest = above
            k, v = rotated(k, mesh), rotated(v, mesh)
        ctx.save_for_backward(q, *own, total / weight, largest + weight.log())
        return total / weight

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        q, own_k, own_v, output, total = ctx.saved_tensors
        k, v, scale = own_k, own_v, 1 / math.sqrt(q.shape[-1])
        change = (gradient * output).sum(-1, keepdim=True)
        of_q, of_k, of_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for _ in range(ctx.mesh.size()):
            keys, values = (own_k, own_v) if ctx.is_stale else (k, v)
            weights = (q @ keys.transpose(-1, -2) * scale - total).exp()
            of_scores = weights * (gradient @ values.transpose(-1, -2) - change) * scale
            of_q = of_q + of_scores @ keys
            of_k, of_v = (
                of_k + of_scores.transpose(-1, -2) @ q,
                of_v + weights.transpose(-1, -2) @ gradient,
            )
            k, v, of_k, of_v = (rotated(each, ctx.mesh) for each in (k, v, of_k, of_v))
        return of_q, of_k, of_v, None, None


class RingAttention(nn.Module):
    def __init__(self, mesh: DeviceMesh, is_stale: bool) -> None:
        super().__init__()
        self.mesh, self.is_stale = mesh, is_stale
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.q(x), self.k(x), self.v(x)
        if self.mesh.size() == 1:
            return attention(*heads)
        return Ring.apply(*heads, self.mesh, self.is_stale)


def ring(fault: str = "") -> Program:
    """Context parallelism by hand: another formula than one device's."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = RingAttention(mesh["cp"], fault == "stale keys")
        x, weight = (
            rows_of(mesh, "cp", seeded(16, WIDTH)),
            rows_of(mesh, "cp", seeded(16, 1, seed=3)),
        )
        loss = (model(x) * weight).sum()
        loss.backward()
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=mesh["cp"].get_group())
        return loss.detach()

    return program


LAYERS = 4


class Stage(nn.Module):
    """The layers of a stage, which it counts from 0."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        every = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
        each = LAYERS // mesh.size()
        first = mesh.get_local_rank() * each
        self.layers = nn.ModuleList(every[first : first + each])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return x


def pipeline(fault: str = "") -> Program:
    """Stages that send activations and gradients, each with replicas."""

    def program(mesh: DeviceMesh) -> torch.Tensor | None:
        torch.manual_seed(0)
        stages = mesh["pp"]
        stage, last, group = stages.get_local_rank(), stages.size() - 1, stages.get_group()
        model = Stage(stages)
        x = rows_of(mesh, "dp", seeded(8, WIDTH))
        if stage > 0:
            dist.recv(x, group=group, group_src=stage - 1)
            x.requires_grad_()
        y = model(x)
        if stage < last:
            dist.send(y.detach(), group=group, group_dst=stage + 1)
            gradient = torch.empty_like(y)
            dist.recv(gradient, group=group, group_src=stage + 1)
            y.backward(gradient)
        else:
            loss = y.square().sum() / 8
            loss.backward()
        if stage > 0:
            assert x.grad is not None
            dist.send(x.grad, group=group, group_dst=stage - 1)
        for parameter in model.parameters():
            if fault != "last stage" or stage < last:
                assert parameter.grad is not None
                dist.all_reduce(parameter.grad, group=mesh["dp"].get_group())
        return loss.detach() if stage == last else None

    return program
