"""The example that everybody copies.

Megatron's core has a short training loop as an example. It calls forward and backward, and the
optimizer. One call is missing: the one that waits for the reduction of gradients and adds up those
of shared weights. In Megatron's own training script another layer makes that call. So programs that
grew from the example trained each rank by itself, with weights that drift apart a little more in
each step. Each loss curve looks fine. The report was closed months later by one line in the example
(#1685).
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, finalizes: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(model, rows(mesh)).backward()
        if finalizes:
            finalize_gradients(model, mesh)
        optimizer.step()


def finalize_gradients(model: nn.Module, mesh: DeviceMesh) -> None:
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, finalizes=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, finalizes=True)


EXHIBIT = Exhibit(
    title="A training loop that never finalizes its gradients",
    source="NVIDIA/Megatron-LM #1685",
    date="2025-09-30",
    check=Replicas(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of 0.weight",
)
