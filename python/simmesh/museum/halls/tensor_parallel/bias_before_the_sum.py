"""A row-parallel layer has a piece of the weight on each rank, and the whole bias on all of them.
Each rank multiplies its piece, and the sum over ranks is the output. torchtitan's output
projection added its bias before that sum. So the bias came in once for each tensor-parallel rank:
on 8 ranks, 8 times. Nothing fails. The bias learns to be an eighth of what it should be, and a
checkpoint of 8 ranks is another model on 4. It shows in the output of the layer, in the first
step.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor, Partial

from simmesh.museum import Exhibit, SameAsOneDevice


class Output(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.mesh = mesh
        self.weight = nn.Parameter(torch.randn(3, 4).chunk(mesh.size(), 1)[mesh.get_local_rank()])
        self.bias = nn.Parameter(torch.randn(3))

    def sum_over_ranks(self, part):
        return DTensor.from_local(part, self.mesh, [Partial()]).full_tensor()


class BiasInEachPart(Output):
    def forward(self, x):
        return self.sum_over_ranks(F.linear(x, self.weight, self.bias))


class BiasAfterTheSum(Output):
    def forward(self, x):
        return self.sum_over_ranks(F.linear(x, self.weight)) + self.bias


def train(mesh, kind):
    torch.manual_seed(0)
    layer = kind(mesh)
    x = torch.randn(2, 4).chunk(mesh.size(), 1)[mesh.get_local_rank()]
    layer(x).square().sum().backward()


def wrong(mesh):
    train(mesh, BiasInEachPart)


def right(mesh):
    train(mesh, BiasAfterTheSum)


EXHIBIT = Exhibit(
    title="The bias that came once a rank",
    source="pytorch/torchtitan PR 4245",
    date="2026-08-21",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="return self.sum_over_ranks(F.linear(x, self.weight, self.bias))",
)
