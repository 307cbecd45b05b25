"""Experts that were loaded into a copy.

A load reads numbers into the tensors of a model. If the file has another dtype, the tensor is cast
first. For experts NeMo Automodel cast the parameter, which makes a new tensor, filled that one, and
dropped it. The experts stayed as random as they were made. The rest of the model was right, the
load printed no warning, and the loss after it was merely worse than it should be. A router learns
to live with random experts, which is why such a run can go on for days. Comparing the parameters
after a load finds it.
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


def train(mesh: DeviceMesh, folder: Path, steps: int, copies_back: bool) -> None:
    torch.manual_seed(len(list(folder.iterdir())))  # a new process draws new numbers
    model = nn.ModuleDict({"dense": nn.Linear(4, 4), "experts": nn.Linear(4, 2)})
    chain = nn.Sequential(model["dense"], model["experts"])
    file, first = folder / "state.pt", 0
    if file.exists():
        first, saved = torch.load(file)
        for name, parameter in model.named_parameters():
            filled = parameter.data.to(saved[name].dtype).copy_(saved[name])
            if copies_back or "experts" not in name:
                parameter.data.copy_(filled)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(first, steps):
        optimizer.zero_grad()
        reduced(chain, mesh, step)
        optimizer.step()
    if mesh.get_local_rank() == 0:
        torch.save((steps, {key: each.double() for key, each in model.state_dict().items()}), file)
    dist.barrier()


def wrong(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, copies_back=False)


def right(mesh: DeviceMesh, folder: Path, steps: int) -> None:
    train(mesh, folder, steps, copies_back=True)


EXHIBIT = Exhibit(
    title="Experts are loaded into a copy",
    source="NVIDIA-NeMo/Automodel PR 2682",
    date="2026-06-20",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter 1.weight",
)
