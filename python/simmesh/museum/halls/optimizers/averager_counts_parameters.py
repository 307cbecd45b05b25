"""An average every third parameter.

Local SGD lets each rank step alone and averages the weights every few steps. The averager counts
its own calls. An optimizer called it once for each parameter, so the counter ran ahead, and which
parameters were averaged depended on their number. Some were averaged in most steps and others
never. The accuracy fell by some points, which is also what local SGD is known to cost. Replicas
that must agree at the end of a period do not.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Averager:
    def __init__(self, group, period):
        self.group, self.period, self.step = group, period, 0

    def average(self, parameters):
        self.step += 1
        if self.step % self.period == 0:
            for parameter in parameters:
                dist.all_reduce(parameter.data, group=self.group)
                parameter.data /= dist.get_world_size(self.group)


def train(mesh, average):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    averager = Averager(mesh.get_group(), period=3)
    for _ in range(3):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        average(averager, model)


def wrong(mesh):
    def average(averager, model):
        for parameter in model.parameters():
            averager.average([parameter])

    train(mesh, average)


def right(mesh):
    train(mesh, lambda averager, model: averager.average(model.parameters()))


EXHIBIT = Exhibit(
    title="An average every third parameter",
    source="pytorch/pytorch PR 74894",
    date="2022-04",
    check=Replicas(ranks=2, options={"at_end": True}),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
