"""In reinforcement learning an advantage says how much better an action was than expected, and is
divided by the spread of the batch. With several GPUs the batch is everybody's, and ALF's algorithm
took mean and spread on each GPU. An action that is good among its neighbours on one GPU is pushed
up, although it is bad in the batch. The smaller the share of a GPU, the more noise comes in. The
loss is no measure in reinforcement learning, so nobody misses a curve. It shows in the advantages
that the program notes, at the line of the mean.
"""

import torch
import torch.distributed as dist
from torch import nn

import simmesh
from simmesh.museum import Exhibit, SameAsOneDevice

RETURNS = torch.randn(8, generator=torch.Generator().manual_seed(1))
STATES = torch.randn(8, 3, generator=torch.Generator().manual_seed(2))


def moments(values, group):
    sums = torch.stack([values.sum(), values.square().sum(), torch.tensor(float(len(values)))])
    if group is not None:
        dist.all_reduce(sums, group=group)
    mean = sums[0] / sums[2]
    return mean, (sums[1] / sums[2] - mean.square()).sqrt()


def train(mesh, group):
    torch.manual_seed(0)
    policy = nn.Linear(3, 1)
    mine = simmesh.rows_of(mesh.get_local_rank(), mesh.size(), len(RETURNS))
    mean, deviation = moments(RETURNS[mine], group)
    advantages = simmesh.note("advantages", (RETURNS[mine] - mean) / (deviation + 1e-5))
    score = policy(STATES[mine]).squeeze(1)
    (-(score.sigmoid() * advantages).sum() / len(RETURNS)).backward()
    for parameter in policy.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(policy.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, group=None)


def right(mesh):
    train(mesh, group=mesh.get_group())


EXHIBIT = Exhibit(
    title="Better than its neighbours on this GPU",
    source="HorizonRobotics/alf PR 1642",
    date="2024-05-07",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="advantages",
)
