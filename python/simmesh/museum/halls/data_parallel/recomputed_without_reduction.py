"""A recomputed layer that DDP never saw.

Checkpointing runs a layer again in the backward pass. In its older form that is a backward pass
inside of the other one. DDP finds unused parameters by walking the graph of the forward pass, and
the parameters of a checkpointed layer aren't in it: they come with the second run. So they were
taken for unused, were said to be ready at once, and their gradients came after the reduction. In a
report of 2023 (#109191) a user compares gradients between ranks and finds that those of the
recomputed layers differ. The same loop without checkpointing is right.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.utils.checkpoint import checkpoint

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, walks_graph: bool) -> None:
    torch.manual_seed(0)
    first, second = nn.Linear(4, 4), nn.Linear(4, 2)
    model = nn.Sequential(first, second)
    y = checkpoint(first, rows(mesh).clone().requires_grad_(), use_reentrant=True)
    loss = second(y).square().sum() / len(X)
    used = parameters_in_graph(loss) if walks_graph else set(model.parameters())
    loss.backward()
    for parameter in model.parameters():
        if parameter in used:
            dist.all_reduce(parameter.grad, group=mesh.get_group())


def parameters_in_graph(loss: torch.Tensor) -> set[Any]:
    """The parameters that the graph of a loss leads to."""
    found, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            found.add(node.variable)
        waiting += [each for each, _ in getattr(node, "next_functions", ()) if each is not None]
    return found


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, walks_graph=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, walks_graph=False)


EXHIBIT = Exhibit(
    title="Gradients of recomputed layers are not reduced",
    source="pytorch/pytorch #109191",
    date="2023-09-13",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
