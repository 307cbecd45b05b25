"""Trainings as published reports describe them: right, or with the silent fault of the report.

A fault acts on ranks alone: it is in what a training does for ranks.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DeviceMesh
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_map

from one_device_by_hand import Copy, Sum
from one_device_programs import Program, rows_of, seeded

WIDTH, ROWS = 6, 8


def network() -> nn.Sequential:
    """Two layers and a norm."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH))


def loss_of(model: nn.Module, rows: torch.Tensor, count: int = ROWS) -> torch.Tensor:
    """The sum over rows, divided by the number of all rows."""
    return torch.tanh(model(rows)).square().sum() / count


def reduced(model: nn.Module, mesh: DeviceMesh) -> None:
    """Adds up all gradients."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad, group=mesh.get_group())


def accumulation(fault: str = "") -> Program:
    """Micro-batches; by hand."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        first, last = rows_of(mesh, "dp", seeded(ROWS, WIDTH)).chunk(2)
        loss_of(model, first).backward()
        if fault == "reduced before the last":
            reduced(model, mesh)
        if fault == "only the last" and mesh.size() > 1:
            optimizer.zero_grad()
        loss_of(model, last).backward()
        if fault != "reduced before the last":
            reduced(model, mesh)
        optimizer.step()

    return program


def buckets(fault: str = "") -> Program:
    """Gradients in one buffer, whose buckets are averaged one after the other."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        rows = rows_of(mesh, "dp", seeded(ROWS, WIDTH))
        parameters = list(model.parameters())
        if fault == "begins with parameters" and mesh.size() > 1:
            for parameter in parameters:
                parameter.grad = parameter.detach().clone()
        loss_of(model, rows, len(rows)).backward()
        buffer = torch.cat([each.grad.flatten() for each in parameters if each.grad is not None])
        for bucket in buffer.tensor_split(2):
            dist.all_reduce(bucket, group=mesh.get_group())
            whole = buffer if fault == "scales the buffer" else bucket
            whole /= mesh.size()
        pieces = buffer.split([each.numel() for each in parameters])
        for parameter, piece in zip(parameters, pieces):
            parameter.grad = piece.view_as(parameter)

    return program


def contiguous(fault: str = "") -> Program:
    """Gradients that are added up in a contiguous copy."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        loss_of(model, rows_of(mesh, "dp", seeded(ROWS, WIDTH))).backward()
        for parameter in model.parameters():
            assert parameter.grad is not None
            gradient = parameter.grad.t() if parameter.dim() == 2 else parameter.grad
            copy = gradient.contiguous()
            dist.all_reduce(copy, group=mesh.get_group())
            if fault != "returns the original":
                gradient.copy_(copy)

    return program


def warm_up(fault: str = "") -> Program:
    """AdamW with weight decay, whose state some trainings allocate by a step without gradients."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        rows = rows_of(mesh, "dp", seeded(ROWS, WIDTH))
        loss_of(model, rows).backward()
        if fault == "steps by zeros" and mesh.size() > 1:
            kept = [each.grad for each in model.parameters()]
            for parameter in model.parameters():
                parameter.grad = torch.zeros_like(parameter)
            optimizer.step()
            for parameter, gradient in zip(model.parameters(), kept):
                parameter.grad = gradient
        reduced(model, mesh)
        optimizer.step()

    return program


def copies(fault: str = "") -> Program:
    """Weights in float32, and copies of them in bfloat16 that compute."""

    def program(mesh: DeviceMesh) -> None:
        model = network().bfloat16()
        weights = [nn.Parameter(each.detach().float()) for each in model.parameters()]
        optimizer = torch.optim.AdamW(weights, lr=0.1)
        for step in range(2):
            loss_of(
                model, rows_of(mesh, "dp", seeded(ROWS, WIDTH, seed=step)).bfloat16()
            ).backward()
            reduced(model, mesh)
            for weight, parameter in zip(weights, model.parameters()):
                assert parameter.grad is not None
                weight.grad, parameter.grad = parameter.grad.float(), None
            optimizer.step()
            if fault != "not refreshed" or mesh.size() == 1:
                for weight, parameter in zip(weights, model.parameters()):
                    parameter.data.copy_(weight)

    return program


def frozen(fault: str = "") -> Program:
    """A layer that doesn't train, and that FSDP2 cuts."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        model[0].requires_grad_(False)
        if fault == "trains" and mesh.size() > 1:
            for name, parameter in list(model[0].named_parameters()):
                setattr(model[0], name, nn.Parameter(parameter.detach().clone()))
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        rows = rows_of(mesh, "dp", seeded(ROWS, WIDTH))
        loss_of(model, rows, len(rows)).backward()
        optimizer.step()

    return program


def sampler(fault: str = "") -> Program:
    """Seven rows on two ranks; a sampler that pads gives one of them to both."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        model = network()
        rows = seeded(7, WIDTH)
        if fault == "pads" and mesh.size() > 1:
            rows = torch.cat([rows, rows[:1]])
        loss = loss_of(model, rows_of(mesh, "dp", rows), 7)
        loss.backward()
        reduced(model, mesh)
        return loss.detach()

    return program


def scheduler(fault: str = "") -> Program:
    """A learning rate that falls with each step, and not with each rank."""

    def program(mesh: DeviceMesh) -> None:
        model: Any = DistributedDataParallel(network(), process_group=mesh.get_group())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        falls = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for step in range(2):
            rows = rows_of(mesh, "dp", seeded(ROWS, WIDTH, seed=step))
            loss_of(model, rows, len(rows)).backward()
            optimizer.step()
            optimizer.zero_grad()
            for _ in range(mesh.size() if fault == "for each rank" else 1):
                falls.step()

    return program


def windows(fault: str = "") -> Program:
    """Two windows of accumulation under DDP, of which the second must be reduced too."""

    def program(mesh: DeviceMesh) -> None:
        model: Any = DistributedDataParallel(network(), process_group=mesh.get_group())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            parts = rows_of(mesh, "dp", seeded(ROWS, WIDTH, seed=step)).chunk(2)
            for index, part in enumerate(parts):
                syncs = index == 1 and (step == 0 or fault != "never reduced again")
                with torch.enable_grad() if syncs else model.no_sync():
                    loss_of(model, part, ROWS // mesh.size()).backward()
            optimizer.step()
            optimizer.zero_grad()

    return program


def loaded(fault: str = "") -> Program:
    """States of an optimizer that are saved whole and loaded in pieces."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for step in range(2):
            rows = rows_of(mesh, "dp", seeded(ROWS, WIDTH, seed=step))
            loss_of(model, rows, len(rows)).backward()
            optimizer.step()
            optimizer.zero_grad()
            if step == 0:
                saved = optimizer.state_dict()
                if fault == "pieces of another rank":
                    saved["state"] = tree_map(lambda each: moved(each, mesh), saved["state"])
                optimizer.load_state_dict(saved)

    return program


def moved(value: Any, mesh: DeviceMesh) -> Any:
    """A DTensor with the piece of the next rank."""
    if not hasattr(value, "to_local") or mesh.size() == 1:
        return value
    pieces = [torch.empty_like(value.to_local()) for _ in range(mesh.size())]
    dist.all_gather(pieces, value.to_local(), group=mesh.get_group())
    changed = value.clone()
    changed.to_local().copy_(pieces[(mesh.get_local_rank() + 1) % mesh.size()])
    return changed


class Lamb(torch.optim.Optimizer):
    """Steps as long as the weight, by gradients of length 1."""

    def __init__(self, parameters: Any, group: Any = None) -> None:
        super().__init__(parameters, {})
        self.group = group

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            squares = torch.stack([parameter.square().sum(), parameter.grad.square().sum()])
            if self.group is not None:
                dist.all_reduce(squares, group=self.group)
            trust = (squares[0] / squares[1]).sqrt()
            parameter.sub_(0.1 * trust * parameter.grad)


def trust(fault: str = "") -> Program:
    """LAMB on shards that each rank holds as plain tensors."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        loss_of(model, seeded(ROWS, WIDTH)).backward()
        rank, ranks = mesh.get_local_rank(), mesh.size()
        shards = []
        for parameter in model.parameters():
            shard = nn.Parameter(parameter.detach().chunk(ranks)[rank].clone())
            shard.grad = parameter.grad.chunk(ranks)[rank].clone()  # type: ignore[union-attr]
            shards.append(shard)
        Lamb(shards, None if fault == "of each shard" else mesh.get_group()).step()

    return program


def islands(fault: str = "") -> Program:
    """DiLoCo: islands step by themselves, and their changes are averaged for an outer step."""

    def program(mesh: DeviceMesh) -> None:
        model = network()
        outer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9)
        inner = torch.optim.SGD(model.parameters(), lr=0.1)
        before = [each.detach().clone() for each in model.parameters()]
        loss_of(model, seeded(ROWS, WIDTH)).backward()
        inner.step()
        for parameter, old in zip(model.parameters(), before):
            change = (old - parameter.detach()) / mesh.size()
            reduces_copy = fault == "averages a copy"
            target = change.clone() if reduces_copy else change
            dist.all_reduce(target, group=mesh.get_group())
            parameter.grad = change
            parameter.data.copy_(old)
        outer.step()

    return program


def validation(fault: str = "") -> Program:
    """A loss over all rows, which ranks of another dim share."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        model = network()
        rows = rows_of(mesh, "dp", seeded(ROWS, WIDTH))
        total = F.mse_loss(model(rows), torch.ones_like(rows), reduction="sum").detach()
        dist.all_reduce(total, group=mesh["dp"].get_group())
        if fault == "counted for each rank":
            dist.all_reduce(total, group=mesh["cp"].get_group())
        return total / ROWS

    return program


class Experts(nn.Module):
    """Layers that are added up, each on a rank of its own, behind a norm that all ranks have."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        every = [nn.Linear(WIDTH, WIDTH) for _ in range(2)]
        self.norm, self.group = nn.LayerNorm(WIDTH), mesh.get_group()
        mine = range(mesh.get_local_rank(), 2, mesh.size())
        self.experts = nn.ModuleDict({str(index): every[index] for index in mine})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = Copy.apply(self.norm(x), self.group)
        return Sum.apply(sum(torch.tanh(each(x)) for each in self.experts.values()), self.group)


def clipping(fault: str = "") -> Program:
    """A norm of gradients of which each rank has some, and all ranks have others."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = Experts(mesh)
        loss_of(model, seeded(ROWS, WIDTH)).backward()
        parameters = list(model.parameters())
        is_first = mesh.get_local_rank() == 0 or fault == "counts replicas"
        counted = parameters if is_first else list(model.experts.parameters())
        square = torch.stack([(each.grad**2).sum() for each in counted]).sum()
        if fault != "of each rank":
            dist.all_reduce(square, group=mesh.get_group())
        is_forgotten = fault == "on one rank" and mesh.get_local_rank() == 1
        clipped = list(model.experts.parameters()) if is_forgotten else parameters
        nn.utils.clip_grads_with_norm_(clipped, 0.01, square.sqrt())
        torch.optim.SGD(parameters, lr=0.1).step()

    return program
