"""FSDP with original parameters shows each rank views of its shard. NeMo adds up the gradients of
parameters that FSDP doesn't manage, and knew those by a test: whatever is no flat parameter isn't
managed. With original parameters nothing is a flat parameter. So each shard's gradient, which FSDP
had reduced, was added to that of the other ranks, whose shards are other rows. Users saw another
loss under FSDP than without and asked why. It took some months until the cause was found. It shows
in the first gradient.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Model(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.body = fully_shard(nn.Linear(4, 4), mesh=mesh)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.body(x).tanh() * self.scale


def is_flat(parameter):
    return False


def is_managed(parameter):
    return isinstance(parameter, DTensor)


def train(mesh, is_reduced):
    torch.manual_seed(0)
    model = Model(mesh)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    model(mine).square().mean().backward()
    for parameter in model.parameters():
        if not is_reduced(parameter):
            gradient = parameter.grad
            local = gradient.to_local() if isinstance(gradient, DTensor) else gradient
            dist.all_reduce(local, group=mesh.get_group())
            local /= mesh.size()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, is_flat)


def right(mesh):
    train(mesh, is_managed)


EXHIBIT = Exhibit(
    title="Gradients of shards are reduced once more",
    source="NVIDIA-NeMo/Speech PR 9335 (#8487)",
    date="2024-05-29",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of body.weight",
)
