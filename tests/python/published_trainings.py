"""Trainings as reports describe them: right, or with the silent fault of the report.

A fault acts on ranks alone: it is in what a training does for ranks.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DeviceMesh
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_map

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
