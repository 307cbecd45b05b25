"""OLMo normalizes queries head by head: a norm has one weight for each element of each head.
Tensor parallelism cuts the heads over ranks, so the norm's weight must be cut by heads too. The
plan cut it along the other dim, the elements of a head. Where the sizes fit, each rank multiplied
its heads by the wrong half of the weights. Where they don't fit it crashes, and that is how it
was noticed. It shows in the output of the norm.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from simmesh.museum import Exhibit, SameAsOneDevice

HEADS, SIZE = 4, 4


class HeadNorm(nn.Module):
    def __init__(self, mesh, dim):
        super().__init__()
        weight = distribute_tensor(torch.randn(HEADS, SIZE), mesh, [Shard(dim)])
        self.weight = nn.Parameter(weight.to_local().reshape(HEADS // mesh.size(), SIZE))

    def forward(self, x):
        return x * x.square().mean(-1, keepdim=True).rsqrt() * self.weight


def train(mesh, dim):
    torch.manual_seed(0)
    norm = HeadNorm(mesh, dim)
    queries = distribute_tensor(torch.randn(3, HEADS, SIZE), mesh, [Shard(1)])
    y = DTensor.from_local(norm(queries.to_local()), mesh, [Shard(1)])
    y.full_tensor().square().sum().backward()


def wrong(mesh):
    train(mesh, dim=1)


def right(mesh):
    train(mesh, dim=0)


EXHIBIT = Exhibit(
    title="The norm of another head",
    source="allenai/OLMo-core PR 353",
    date="2025-08-23",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="parameter HeadNorm.weight",
)
