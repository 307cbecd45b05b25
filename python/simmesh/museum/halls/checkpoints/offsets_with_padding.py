"""Offsets that counted the padding.

Megatron keeps parameters in buckets, each padded so that ranks get equal parts. A checkpoint is
written from a buffer in which the buckets lie one behind the other, without the padding. The places
in that buffer were computed with it. The first bucket was right, and each later one was read a
little too far behind. What lay beyond the end came out as zeros. All tests had one bucket. A loaded
model trains on: its first layers are whole, the later ones are shifted by a few numbers.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def reduced(model: nn.Module, mesh: DeviceMesh, step: int) -> None:
    """The gradients of all ranks' rows, which are others in each step."""
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))] + step
    (model(mine).square().sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def train(mesh: DeviceMesh, folder: Path, steps: int, counts_padding: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3))
    buckets = [list(layer.parameters()) for layer in model]
    file, first = folder / "model.pt", 0
    if file.exists():
        first, buffer = torch.load(file)
        begin = 0
        for bucket in buckets:
            numel = sum(each.numel() for each in bucket)
            flat = torch.cat([buffer, torch.zeros(16)])[begin : begin + numel]
            for parameter, part in zip(bucket, flat.split([each.numel() for each in bucket])):
                parameter.data.copy_(part.view_as(parameter))
            begin += -(-numel // 16) * 16 if counts_padding else numel
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(first, steps):
        optimizer.zero_grad()
        reduced(model, mesh, step)
        optimizer.step()
    if mesh.get_local_rank() == 0:
        flat = torch.cat([each.detach().flatten() for each in model.parameters()])
        torch.save((steps, flat), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, counts_padding=True)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, counts_padding=False)


EXHIBIT = Exhibit(
    title="Offsets count a padding that is not there",
    source="NVIDIA/Megatron-LM PR 5077",
    date="2026-08-21",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter 1.weight",
)
