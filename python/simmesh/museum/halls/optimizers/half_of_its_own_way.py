"""The outer step begins at the wrong place.

DiLoCo lets each rank train alone, takes the average of how far the ranks have gone, and lets an
outer optimizer step from the weights before. An implementation that overlaps this with training
mixed local and global weights, and wrote the mix into the tensor that it still read. Each rank kept
a part of its own way, so replicas that must be equal after the outer step were not. Losses fall on
each rank. The fix came with others for numbers in the same change.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, mixes):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    before = [parameter.detach().clone() for parameter in model.parameters()]
    model(batch).square().mean().backward()
    inner.step()
    for old, parameter in zip(before, model.parameters()):
        change = old - parameter.data
        dist.all_reduce(change, group=mesh.get_group())
        change /= mesh.size()
        parameter.data.copy_(mixes(parameter.data, old, change))


def wrong(mesh):
    train(mesh, lambda local, old, change: (local + (old - change)) / 2)


def right(mesh):
    train(mesh, lambda local, old, change: old - change)


EXHIBIT = Exhibit(
    title="Half of each rank's own way",
    source="meta-pytorch/torchft PR 233",
    date="2025-07-14",
    check=Replicas(ranks=2, options={"at_end": True}),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
