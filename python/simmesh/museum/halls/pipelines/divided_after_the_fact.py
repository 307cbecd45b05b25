"""A loss is a sum over tokens, divided by their number. A pipeline's schedule runs forward and
backward of all micro-batches by itself, and returns the losses. torchtitan divided these losses
by the number of tokens, which looks right in the log. But the schedule had already run backward,
from the sum. All gradients were too large by the number of tokens. Adam divides by the size of
gradients, so training went on; clipping, weight decay and epsilon acted in another world. It
shows in the gradients, while the loss agrees.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS = 8


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


def run(stage, mesh, rows, loss_of):
    """Runs a stage on a micro-batch, forward and backward; returns the loss on the last one."""
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
        y.backward(gradient)
    else:
        loss = loss_of(y)
        loss.backward()
    if rank > 0:
        dist.send(x.grad, group=group, group_dst=rank - 1)
    return loss.detach() if rank == last else torch.zeros(())


def schedule(mesh, loss_of):
    torch.manual_seed(0)
    stage = stage_of(mesh)
    return sum(run(stage, mesh, rows, loss_of) for rows in torch.randn(TOKENS, 3).chunk(2))


def divided_inside(mesh):
    return schedule(mesh, lambda y: y.square().sum() / TOKENS)


def divided_outside(mesh):
    return schedule(mesh, lambda y: y.square().sum()) / TOKENS


def wrong(mesh):
    return divided_inside(mesh) if mesh.size() == 1 else divided_outside(mesh)


def right(mesh):
    return divided_inside(mesh)


EXHIBIT = Exhibit(
    title="Divided after the fact",
    source="pytorch/torchtitan PR 4194",
    date="2026-08-19",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of Stage",
)
