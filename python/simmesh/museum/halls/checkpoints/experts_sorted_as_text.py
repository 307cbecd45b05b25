"""Ten comes before two.

To write the experts of a layer as one tensor, torchtitan collected their names and sorted them.
Names are text, and as text "10" comes before "2". With up to ten experts nobody sees it. With more,
the tensor has the experts in the order 0, 1, 10, 11, 2, and whoever reads it takes them by their
places. The router then sends tokens to other experts than those that learned them. The file is well
formed, and its hash is fine. Saving and loading by the same sorted names cancels out, so it shows
only where one side counts, as the other ranks of a new layout do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Experts(nn.Module):
    """Experts that are added up, of which each rank has a run; rank by rank they are in order."""

    def __init__(self, mesh: DeviceMesh, count: int) -> None:
        super().__init__()
        every = [nn.Parameter(torch.randn(4)) for _ in range(count)]
        mine = range(count)[rows_of(mesh.get_local_rank(), mesh.size(), count)]
        self.experts = nn.ParameterDict()
        for index in mine:
            self.experts[str(index)] = every[index]
        self.group = mesh.get_group()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [(int(name) + 1) * (x @ weight).square().sum() for name, weight in self.experts.items()]
        ).sum()


def train(mesh: DeviceMesh, folder: Path, steps: int, as_text: bool) -> None:
    torch.manual_seed(0)
    model = Experts(mesh, 12)
    file, first = folder / "experts.pt", 0
    if file.exists():
        first, whole = torch.load(file)
        for name, weight in model.experts.items():
            weight.data.copy_(whole[int(name)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(first, steps):
        optimizer.zero_grad()
        model(X + step).backward()
        optimizer.step()
    own = {name: each.detach() for name, each in model.experts.items()}
    parts: list[Any] = [None] * mesh.size()
    dist.all_gather_object(parts, own, group=mesh.get_group())
    every = {name: each for part in parts for name, each in part.items()}
    if mesh.get_local_rank() == 0:
        names = sorted(every) if as_text else sorted(every, key=int)
        torch.save((steps, torch.stack([every[name] for name in names])), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, as_text=True)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, as_text=False)


EXHIBIT = Exhibit(
    title="Experts are sorted as text",
    source="pytorch/torchtitan PR 1918",
    date="2025-10-17",
    check=Resumed(layouts=[{"ep": 2}, {"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter experts.2,",
)
