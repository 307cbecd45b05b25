"""The loss of a batch is the sum over tokens, divided by the number of tokens of all ranks. With
context parallelism a text lies on several ranks. verl added up the counts over the data ranks, and
left out those that hold other pieces of the same texts. So the divisor was too small by the number
of pieces. Losses and gradients were twice as large with two pieces. Reports of trainings that don't
converge with context parallelism were a year old by then. It shows in the first gradient, as a
factor.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(1))


def train(mesh, group_of_counts):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    texts = X.chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    piece = texts.chunk(mesh["cp"].size(), 1)[mesh["cp"].get_local_rank()]
    batch_num_tokens = torch.tensor(float(piece.shape[0] * piece.shape[1]))
    dist.all_reduce(batch_num_tokens, group=group_of_counts(mesh))
    (model(piece).square().sum() / batch_num_tokens).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, lambda mesh: mesh["dp"].get_group())


def right(mesh):
    train(mesh, lambda mesh: dist.group.WORLD)


EXHIBIT = Exhibit(
    title="The tokens of the other pieces don't count",
    source="verl-project/verl #5983, PR 5993",
    date="2026-04-13",
    check=SameAsOneDevice(layouts=[{"dp": 2, "cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
