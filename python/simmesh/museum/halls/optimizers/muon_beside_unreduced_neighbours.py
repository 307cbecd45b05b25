"""A matrix that was half reduced.

ZeRO cuts the long row of all gradients into equal parts, one a rank, wherever the cuts fall. With
reduce-scatter a rank gets the sums of its own part only. Muon needs whole matrices, and a matrix
that lies across a cut is partly in the part of the neighbour. DeepSpeed's Muon took the gradient as
it lay in memory: its own part reduced, the neighbour's still that of this rank alone. The user who
reported it (#7807) saw that parameters across cuts are updated otherwise on each rank. It was
mended half a year later.
"""

from __future__ import annotations

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


def orthogonal(g: torch.Tensor) -> torch.Tensor:
    """The orthogonal factor of a matrix, nearly: Newton and Schulz, five times."""
    x = g / g.square().sum().sqrt()
    for _ in range(5):
        x = 1.5 * x - 0.5 * (x @ x.T @ x)
    return x


def train(mesh: DeviceMesh, reduces_all: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3, bias=False)
    loss_of(model, rows(mesh)).backward()
    assert model.weight.grad is not None
    flat = model.weight.grad.flatten()
    part = flat.chunk(mesh.size())[mesh.get_local_rank()]
    if reduces_all:
        dist.all_reduce(flat, group=mesh.get_group())
    else:
        own = torch.empty_like(part)
        dist.reduce_scatter_tensor(own, flat.clone(), group=mesh.get_group())
        part.copy_(own)
    model.weight.grad = orthogonal(flat.view(3, 4))
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, reduces_all=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, reduces_all=True)


EXHIBIT = Exhibit(
    title="Muon sees unreduced neighbours",
    source="deepspeedai/DeepSpeed PR 8141 (#7807)",
    date="2026-07-17",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
