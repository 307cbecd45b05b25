"""A batch norm over several devices needs the mean of all rows. Paddle's kernel took each device's
mean, and then the mean of these. That is right if all devices have as many rows. The last batch of
an epoch is seldom so kind, and in detection every device has its own number of boxes. Then rows of
the smaller batch count more, in the mean, in the variance and in the running statistics that the
finished model uses. A user read it in the code. It shows in the output of the layer.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_reduce

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))


class SyncNorm(nn.Module):
    def __init__(self, mesh, has_counts):
        super().__init__()
        self.group, self.size, self.has_counts = mesh.get_group(), mesh.size(), has_counts

    def mean(self, x):
        if self.has_counts:
            return all_reduce(x.sum(0), group=self.group) / len(X)
        return all_reduce(x.mean(0), group=self.group) / self.size

    def forward(self, x):
        centered = x - self.mean(x)
        return centered * (self.mean(centered.square()) + 1e-5).rsqrt()


def train(mesh, has_counts):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), SyncNorm(mesh, has_counts), nn.Tanh())
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    (model(mine)[:, 0].sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, has_counts=False)


def right(mesh):
    train(mesh, has_counts=True)


EXHIBIT = Exhibit(
    title="A mean of means, inside of a norm",
    source="PaddlePaddle/Paddle #32464",
    date="2021-04-22",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="return all_reduce(x.mean(0), group=self.group) / self.size",
)
