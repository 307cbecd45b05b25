"""Two meshes, two norms: one of the parameters of each. A training adds them up and logs the
number. ``item()`` of a distributed tensor gives a Python number. On which rank, of what? If the
norm isn't replicated yet, PyTorch reads what this rank has: a part. Each rank logs, compares or
clips by a number of its own, and no number is the norm. simmesh's own rules check of PyTorch 2.15
has it as well: each rank returns its own piece's value. It shows as a value that differs by rank
where it must agree.
"""

import torch
from torch import nn
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from simmesh.museum import Exhibit, SameAsOneDevice


def item_of_the_piece(square):
    return square.to_local().item()


def item_of_the_whole(square):
    return square.redistribute(placements=[Replicate()]).to_local().item()


def train(mesh, item):
    torch.manual_seed(0)
    model = nn.Linear(3, 4, bias=False)
    model.weight = nn.Parameter(distribute_tensor(model.weight.detach(), mesh, [Shard(0)]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.weight.square().sum().backward()
    norm = item(model.weight.grad.square().sum()) ** 0.5
    nn.utils.clip_grads_with_norm_(model.parameters(), 0.5, torch.tensor(norm))
    optimizer.step()


def wrong(mesh):
    train(mesh, item_of_the_piece)


def right(mesh):
    train(mesh, item_of_the_whole)


EXHIBIT = Exhibit(
    title="A number, but whose?",
    source="pytorch/pytorch #180346",
    date="2026-04-14",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
