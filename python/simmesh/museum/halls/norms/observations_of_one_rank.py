"""A robot's observations are normalized by running means and variances, before the policy sees
them. With several GPUs each has robots of its own. Gradients were averaged over GPUs, the running
statistics weren't: each GPU kept those of its robots. So equal weights saw inputs on different
scales, and the saved model had rank 0's scale. The cure isn't to average variances either, since
that forgets how far the means lie apart. It shows in the buffers after the first step.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class EmpiricalNormalization(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("var", torch.ones(4))

    def added_up(self, value):
        if self.group is not None:
            dist.all_reduce(value, group=self.group)
        return value

    @torch.no_grad()
    def update(self, x):
        count = self.added_up(torch.tensor(float(len(x))))
        mean = self.added_up(x.sum(0)) / count
        self.var.lerp_(self.added_up((x - mean).square().sum(0)) / count, 0.1)
        self.mean.lerp_(mean, 0.1)

    def forward(self, x):
        self.update(x)
        return (x - self.mean) / (self.var + 0.01).sqrt()


def train(mesh, group):
    torch.manual_seed(0)
    model = nn.Sequential(EmpiricalNormalization(group), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    (model(mine).square().sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    optimizer.step()


def wrong(mesh):
    train(mesh, group=None)


def right(mesh):
    train(mesh, group=mesh.get_group())


EXHIBIT = Exhibit(
    title="Each GPU normalizes by its own robots",
    source="leggedrobotics/rsl_rl PR 226",
    date="2026-08-20",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of 0",
)
