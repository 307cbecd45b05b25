"""A large batch is trained in parts: each part adds its gradients, and one step uses the sum. In
a torchtitan pipeline the schedule scaled the gradients when it was done, as it does for a batch.
But it was done at the end of each part. So the sum so far was scaled again and again: the first
part by 1/8, the second by 1/4, the last one by 1/2. What should be a sum was a moving average in
which old parts fade. The loss went down, since the last part is data as well. It shows in the
gradients of the first stage.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

PARTS, ROWS = 2, 8


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
    """Runs a stage on some rows, forward and backward."""
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
        loss_of(y).backward()
    if rank > 0:
        dist.send(x.grad, group=group, group_dst=rank - 1)


def scale(stage):
    for parameter in stage.parameters():
        parameter.grad /= ROWS


def train(mesh, scales_each_part):
    torch.manual_seed(0)
    stage = stage_of(mesh)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    for part in torch.randn(ROWS, 3).chunk(PARTS):
        run(stage, mesh, part, lambda y: y.square().sum())
        if scales_each_part and mesh.size() > 1:
            scale(stage)
    if not scales_each_part or mesh.size() == 1:
        scale(stage)
    optimizer.step()


def wrong(mesh):
    train(mesh, scales_each_part=True)


def right(mesh):
    train(mesh, scales_each_part=False)


EXHIBIT = Exhibit(
    title="The sum that forgot",
    source="pytorch/torchtitan PR 1732",
    date="2025-09-24",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of layers.0.weight",
)
