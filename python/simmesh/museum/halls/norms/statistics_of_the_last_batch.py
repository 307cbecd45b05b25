"""The running statistics of a batch norm follow the last batches. To have precise ones, a tool runs
over many batches and takes the mean of their statistics, weighted by the number of rows. With
several GPUs the tool adds up the statistics over GPUs, and forgot the numbers of rows. The last
batch of a GPU may be smaller, so the weights differ. After the pass, whose purpose is that all GPUs
have the same, each has others. Two projects link each other's report. It shows in the buffers.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Replicas

X = torch.randn(10, 3, generator=torch.Generator().manual_seed(1))
BATCHES = [[X[0:3], X[3:6]], [X[6:9], X[9:10]]]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(3))
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return (x - self.running_mean) * self.weight


def update_bn_stats(norm, batches, mesh, adds_up_rows):
    total, rows = torch.zeros(3), torch.zeros(())
    for batch in batches:
        mean, count = batch.mean(0), torch.tensor(float(len(batch)))
        sums = mean * count if adds_up_rows else mean
        dist.all_reduce(sums, group=mesh.get_group())
        if adds_up_rows:
            dist.all_reduce(count, group=mesh.get_group())
            total, rows = total + sums, rows + count
        else:
            total, rows = total + sums / mesh.size() * count, rows + count
    norm.running_mean.copy_(total / rows)


def train(mesh, adds_up_rows):
    norm, batches = Norm(), BATCHES[mesh.get_local_rank()]
    optimizer = torch.optim.SGD(norm.parameters(), lr=0.1)
    update_bn_stats(norm, batches, mesh, adds_up_rows)
    norm(batches[0]).square().sum().backward()
    dist.all_reduce(norm.weight.grad, group=mesh.get_group())
    optimizer.step()


def wrong(mesh):
    train(mesh, adds_up_rows=False)


def right(mesh):
    train(mesh, adds_up_rows=True)


EXHIBIT = Exhibit(
    title="Precise statistics, other ones on each GPU",
    source="facebookresearch/fvcore #152",
    date="2024-11-25",
    check=Replicas(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="buffer Norm.running_mean",
)
