"""In multi-query attention all heads share one key and one value. Tensor parallelism gives each
rank some heads of the queries, and every rank a copy of the shared weights. The gradient of such
a copy comes from the rank's own heads, so the ranks' gradients must be added up. In bigcode's
Megatron they weren't. All ranks started with the same copy, and each trained its own. A report
tells of parameters that had drifted apart after step 2,400 of a training. It shows in the first
gradient of the shared weights: a part of a sum.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate

from simmesh.museum import Exhibit, SameAsOneDevice

HEADS, SIZE = 4, 2


class Attention(nn.Module):
    def __init__(self, mesh, shared):
        super().__init__()
        self.mesh, self.shared = mesh, shared
        rank, ranks = mesh.get_local_rank(), mesh.size()
        self.query = nn.Parameter(torch.randn(HEADS, 4, SIZE).chunk(ranks)[rank].clone())
        self.key, self.value = (nn.Parameter(torch.randn(4, SIZE)) for _ in range(2))

    def forward(self, x):
        key, value = self.shared(self.key, self.mesh), self.shared(self.value, self.mesh)
        weights = (x @ self.query @ (x @ key).t()).softmax(-1)
        return (weights @ (x @ value)).sum(0)


def own_gradient(weight, mesh):
    return weight


def summed_gradient(weight, mesh):
    whole = DTensor.from_local(weight, mesh, [Replicate()], run_check=False)
    return whole.to_local(grad_placements=[Partial()])


def train(mesh, shared):
    torch.manual_seed(0)
    attention = Attention(mesh, shared)
    attention(torch.randn(3, 4)).sum().backward()


def wrong(mesh):
    train(mesh, own_gradient)


def right(mesh):
    train(mesh, summed_gradient)


EXHIBIT = Exhibit(
    title="One key for all, and each its own",
    source="bigcode-project/Megatron-LM #35",
    date="2023-03-20",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Attention.key",
)
