"""Three blocks that were four.

Attention keeps the weights of queries, keys and values in one matrix. Muon treats them as three
matrices, for each has a meaning of its own. Newer models put a gate into the same matrix.
Megatron's Muon computed the places of the blocks from the sizes of three. With the gate there are
four, so each cut fell into the middle of another block. All shapes fit and nothing complains. The
update mixes rows of values with rows of the gate, which no layout of one device does.
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


def train(mesh: DeviceMesh, forgets_gate: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 12, bias=False)  # queries, gate, keys and values of one head
    loss_of(model, rows(mesh)).backward()
    assert model.weight.grad is not None
    dist.all_reduce(model.weight.grad, group=mesh.get_group())
    blocks = 3 if forgets_gate and mesh.size() > 1 else 4
    model.weight.grad = torch.cat([orthogonal(each) for each in model.weight.grad.chunk(blocks)])
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, forgets_gate=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, forgets_gate=False)


EXHIBIT = Exhibit(
    title="Muon's blocks of a matrix forget the gate",
    source="NVIDIA/Megatron-LM PR 4728",
    date="2026-06-03",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
