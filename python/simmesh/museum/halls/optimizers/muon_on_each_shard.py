"""A matrix is not the sum of its halves.

Muon replaces the gradient of a matrix by its orthogonal factor. That needs the whole matrix. Under
tensor parallelism each rank has some rows, and DeepSpeed orthogonalized these. The result is
orthogonal too, only it is another one. A report measured it with two ranks: gradients agree to
7e-7, updates are off by 39 % and 11 % too long. Both runs start from one loss, so a test that looks
at the first loss passes. The update depends on the number of ranks, and a tuned learning rate no
longer fits.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def orthogonal(g: torch.Tensor) -> torch.Tensor:
    """The orthogonal factor of a matrix, nearly: Newton and Schulz, five times."""
    x = g / g.square().sum().sqrt()
    for _ in range(5):
        x = 1.5 * x - 0.5 * (x @ x.T @ x)
    return x


class Columns(nn.Module):
    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        whole = torch.randn(4, 4)
        self.weight = nn.Parameter(whole.chunk(mesh.size())[mesh.get_local_rank()].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight)


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters: Any, mesh: DeviceMesh, gathers: bool) -> None:
        super().__init__(parameters, {})
        self.mesh, self.gathers = mesh, gathers

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            update = parameter.grad
            if self.gathers:
                parts = [torch.empty_like(update) for _ in range(self.mesh.size())]
                dist.all_gather(parts, update, group=self.mesh.get_group())
                update = orthogonal(torch.cat(parts))
                update = update.chunk(self.mesh.size())[self.mesh.get_local_rank()]
            else:
                update = orthogonal(update)
            parameter.sub_(0.1 * update)


def train(mesh: DeviceMesh, gathers: bool) -> None:
    torch.manual_seed(0)
    model = Columns(mesh)
    mine = X.chunk(mesh.size(), 1)[mesh.get_local_rank()]
    (model(X) - mine).square().sum().backward()
    Muon(model.parameters(), mesh, gathers).step()


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, gathers=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, gathers=True)


EXHIBIT = Exhibit(
    title="Muon orthogonalizes each shard",
    source="deepspeedai/DeepSpeed #8437",
    date="2026-09-06",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="parameter Columns.weight",
)
