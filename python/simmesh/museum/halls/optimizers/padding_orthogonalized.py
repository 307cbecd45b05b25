"""Rows of padding that took part.

Some buffers are padded, so that every rank's part has an aligned size. Padding is harmless for
Adam, which looks at elements one by one. Muon looks at matrices. Megatron gave it the matrix
together with the padding behind it, whose content is whatever was there. The rows of padding
changed the orthogonal factor of all other rows. Where the padding is zero it does no harm, so it
needed a buffer that had been used for something else. Whole matrices without padding are what one
device has.
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


def train(mesh: DeviceMesh, keeps_padding: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3, bias=False)
    loss_of(model, rows(mesh)).backward()
    assert model.weight.grad is not None
    aligned = 4 if mesh.size() > 1 else 3  # rows that two ranks can share evenly
    buffer = torch.ones(aligned, 4)
    buffer[:3] = model.weight.grad
    dist.all_reduce(buffer, group=mesh.get_group())
    update = orthogonal(buffer)[:3] if keeps_padding else orthogonal(buffer[:3])
    model.weight.grad = update
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, keeps_padding=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, keeps_padding=False)


EXHIBIT = Exhibit(
    title="Padding is orthogonalized with the matrix",
    source="NVIDIA/Megatron-LM PR 6740",
    date="2026-08-22",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
