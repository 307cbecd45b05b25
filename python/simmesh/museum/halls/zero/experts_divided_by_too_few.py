"""Experts that learned faster the more ranks shared them.

A mixture of experts has two groups for gradients. Those of experts are added up over the ranks that
hold the same expert, and those of all other weights over all ranks. The divisor is another
question: the loss is a mean over all ranks, so every gradient is divided by their number. DeepSpeed
divided those of experts by the number of ranks in their own group. With two ranks to an expert
group that is twice the gradient. So another layout of the same job trained another model, and Adam
hid it, since it divides by the size of gradients. The mend came with a test that other layouts have
the same expert gradients.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Experts(nn.Module):
    """Two experts, of which each rank holds some; a row belongs to the expert of its number."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.mesh = mesh
        every = [nn.Linear(4, 4, bias=False) for _ in range(2)]
        mine = range(mesh["ep"].get_local_rank(), 2, mesh["ep"].size())
        self.experts = nn.ModuleDict({str(index): every[index] for index in mine})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        edp, loss = self.mesh["edp"], torch.zeros(())
        for name, expert in self.experts.items():
            sent = x[int(name) :: 2]  # the rows that all ranks have sent to this expert
            mine = sent[rows_of(edp.get_local_rank(), edp.size(), len(sent))]
            loss = loss + expert(mine).square().sum() / len(X)
        return loss


def train(mesh: DeviceMesh, divisor: int) -> None:
    torch.manual_seed(0)
    model = Experts(mesh)
    (model(X) * mesh.size()).backward()  # each rank takes the mean of its own rows
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh["edp"].get_group())
        parameter.grad /= divisor


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, divisor=mesh["edp"].size())


def right(mesh: DeviceMesh) -> None:
    train(mesh, divisor=mesh.size())


EXHIBIT = Exhibit(
    title="Expert gradients are divided by too few ranks",
    source="deepspeedai/DeepSpeed PR 6546",
    date="2024-10-23",
    check=SameAsOneDevice(layouts=[{"edp": 2, "ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of experts.0.weight",
)
