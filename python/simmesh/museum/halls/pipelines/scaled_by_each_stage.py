"""The last stage of a pipeline divides its loss by the number of micro-batches, and that is
enough: the factor travels down with the gradients. In DeepSpeed each stage divided the gradient
that it received, too. With 4 stages and 8 micro-batches the first stage trained with 1/512 of the
scale that it should have had beside the last one. Adam hides it, since it looks at directions.
Clipping by one norm over all stages does not. It shows at the first boundary of stages: all
elements are 1/2 times one device's.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

MICRO_BATCHES = 2


class Stage(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleDict(layers)

    def forward(self, x):
        for layer in self.layers.values():
            x = torch.tanh(layer(x))
        return x


def stage_of(mesh):
    every = [nn.Linear(3, 3) for _ in range(2)]
    rank, ranks = mesh.get_local_rank(), mesh.size()
    return Stage(
        {str(each): every[each] for each in range(rank * 2 // ranks, (rank + 1) * 2 // ranks)}
    )


def run(stage, mesh, rows, loss_of, received):
    """Runs a stage on a micro-batch, forward and backward."""
    rank, last, group = mesh.get_local_rank(), mesh.size() - 1, mesh.get_group()
    x = rows.clone()
    if rank > 0:
        dist.recv(x, group=group, group_src=rank - 1)
        x.requires_grad_()
    y = stage(x)
    if rank < last:
        dist.send(y.detach(), group=group, group_dst=rank + 1)
        gradient = torch.empty_like(y)
        dist.recv(gradient, group=group, group_src=rank + 1)
        y.backward(received(gradient))
    else:
        loss_of(y).backward()
    if rank > 0:
        dist.send(x.grad, group=group, group_dst=rank - 1)


def train(mesh, received):
    torch.manual_seed(0)
    stage = stage_of(mesh)
    for rows in torch.randn(8, 3).chunk(MICRO_BATCHES):
        run(stage, mesh, rows, lambda y: y.square().sum() / MICRO_BATCHES, received)


def wrong(mesh):
    train(mesh, lambda gradient: gradient / MICRO_BATCHES)


def right(mesh):
    train(mesh, lambda gradient: gradient)


EXHIBIT = Exhibit(
    title="Every stage divides once more",
    source="deepspeedai/DeepSpeed PR 8154",
    date="2026-07-21",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of layers.0",
)
