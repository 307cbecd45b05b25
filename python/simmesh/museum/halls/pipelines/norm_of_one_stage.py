"""Clipping scales all gradients by one number, which comes from the norm of all of them. With a
pipeline each rank has a stage, and PyTorch's function takes the norm of what it is given. So each
stage was clipped by its own norm: a stage with large gradients by much, another one not at all. The
direction of the step changes, not its length only. torchtitan had it open as an obstacle to a
release, and PyTorch's function was split in two, so that the norm can be added up between. It shows
in the gradient norm.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


class Stages(nn.Module):
    """Layers of a pipeline; this rank's have gradients."""

    def __init__(self, mesh):
        super().__init__()
        every = [nn.Linear(3, 3) for _ in range(2)]
        mine = range(mesh.get_local_rank(), 2, mesh.size())
        self.layers = nn.ModuleDict({str(index): every[index] for index in mine})
        self.others = [every[index] for index in range(2) if index not in mine]
        self.every = every

    def forward(self, x):
        for index, layer in enumerate(self.every):
            x = layer(x).tanh() * (index + 1)
        return x


def train(mesh, adds_up):
    torch.manual_seed(0)
    model = Stages(mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(X).square().sum().backward()
    norm = nn.utils.get_total_norm([each.grad for each in model.parameters()])
    if adds_up:
        squares = norm.square()
        dist.all_reduce(squares, group=mesh.get_group())
        norm = squares.sqrt()
    nn.utils.clip_grads_with_norm_(model.parameters(), 0.5, norm)
    optimizer.step()


def wrong(mesh):
    train(mesh, adds_up=False)


def right(mesh):
    train(mesh, adds_up=True)


EXHIBIT = Exhibit(
    title="Each stage is clipped by its own norm",
    source="pytorch/torchtitan PR 649 (#596)",
    date="2024-10-24",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
