"""Batch norm over several GPUs gathers each GPU's mean and variance, and needs each GPU's number of
elements to put them together. PyTorch gave its kernel one number: the caller's own. As long as all
GPUs have pictures of one size, that is everybody's. With pictures of other sizes each GPU weighed
the variances by its own number, and got other running statistics than its neighbour. The outputs of
training were off too. The model that is saved is rank 0's. It shows in the buffer after the first
step.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Replicas

PIXELS = torch.randn(12, 3, generator=torch.Generator().manual_seed(1))
SIZES = (4, 8)


class SyncNorm(nn.Module):
    def __init__(self, mesh, gathers_counts):
        super().__init__()
        self.mesh, self.gathers_counts = mesh, gathers_counts
        self.register_buffer("running_var", torch.ones(3))
        self.weight = nn.Parameter(torch.ones(3))

    def gathered(self, value):
        values = [torch.empty_like(value) for _ in range(self.mesh.size())]
        dist.all_gather(values, value, group=self.mesh.get_group())
        return torch.stack(values)

    def forward(self, x):
        own = torch.tensor([float(len(x))])
        means, squares = self.gathered(x.mean(0)), self.gathered(x.square().mean(0))
        counts = self.gathered(own) if self.gathers_counts else own.expand(self.mesh.size(), 1)
        mean = (means * counts).sum(0) / counts.sum()
        variance = (squares * counts).sum(0) / counts.sum() - mean.square()
        with torch.no_grad():
            self.running_var.lerp_(variance * counts.sum() / (counts.sum() - 1), 0.1)
        return (x - mean) * (variance + 1e-5).rsqrt() * self.weight


def train(mesh, gathers_counts):
    norm = SyncNorm(mesh, gathers_counts)
    optimizer = torch.optim.SGD(norm.parameters(), lr=0.1)
    norm(PIXELS.split(SIZES)[mesh.get_local_rank()]).square().sum().backward()
    dist.all_reduce(norm.weight.grad, group=mesh.get_group())
    optimizer.step()


def wrong(mesh):
    train(mesh, gathers_counts=False)


def right(mesh):
    train(mesh, gathers_counts=True)


EXHIBIT = Exhibit(
    title="A variance by each rank's own count",
    source="pytorch/pytorch #22192",
    date="2019-06-25",
    check=Replicas(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="SyncNorm.running_var",
)
