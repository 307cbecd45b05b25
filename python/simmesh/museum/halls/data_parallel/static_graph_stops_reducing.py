"""The graph that was static and the count that wasn't.

DDP with static_graph counts in the first step how often each parameter's hook runs, and waits for
as many in all later steps. With accumulation under no_sync the first step has several backward
passes. A change for models that call forward several times took the wrong counter for "the first
step", so all passes of the window were counted. No later step ever reached that number, and no
gradient was reduced again. The first step trains well, and from the second on each rank is alone.
Users of accelerate (#3679) and Lightning had met an internal error before that; one who got past it
got this. The report is of July 2025, the mend of June 2026.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


class StaticGraph:
    """Counts the hooks of the first window, and reduces when a parameter has had as many."""

    def __init__(self, model: nn.Module, mesh: DeviceMesh, counts_all: bool) -> None:
        self.mesh, self.counts_all = mesh, counts_all
        self.expected: dict[Any, int] = dict.fromkeys(model.parameters(), 0)
        self.seen, self.is_first, self.syncs = dict(self.expected), True, False
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(self.ready)

    def ready(self, parameter: torch.Tensor) -> None:
        if self.is_first and (self.syncs or self.counts_all):
            self.expected[parameter] += 1
        self.seen[parameter] += self.syncs
        if self.syncs and (self.is_first or self.seen[parameter] == self.expected[parameter]):
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=self.mesh.get_group())

    def end(self) -> None:
        self.is_first, self.seen = False, dict.fromkeys(self.seen, 0)


def train(mesh: DeviceMesh, counts_all: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    reducer = StaticGraph(model, mesh, counts_all)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for index, part in enumerate(rows(mesh).chunk(2)):
            reducer.syncs = index == 1
            loss_of(model, part).backward()
        reducer.end()
        optimizer.step()
        optimizer.zero_grad()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, counts_all=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, counts_all=False)


EXHIBIT = Exhibit(
    title="A static graph that never reduces again",
    source="pytorch/pytorch PR 187732, huggingface/accelerate #3679",
    date="2026-06-19",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight, time 2",
)
