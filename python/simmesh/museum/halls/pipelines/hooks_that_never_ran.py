"""DDP averages gradients in hooks that autograd calls when a gradient is added to a parameter.
Zero-bubble schedules split the backward pass, and ask autograd for the gradients of weights
directly. What is asked for directly is returned, and no hook is called. So a zero-bubble pipeline
under DDP trained each replica on its own data alone. PyTorch's own issue says it in one sentence:
the combination does not work. It shows in the gradients: a part of a mean.
"""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh.museum import Exhibit, SameAsOneDevice


def asked_directly(loss, parameters):
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
        parameter.grad = gradient


def added_up(loss, parameters):
    loss.backward()


def train(mesh, backward):
    torch.manual_seed(0)
    stage = DistributedDataParallel(nn.Linear(3, 3), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    rows = torch.randn(4, 3).chunk(mesh.size())[mesh.get_local_rank()]
    backward(stage(rows).square().mean(), list(stage.parameters()))
    optimizer.step()


def wrong(mesh):
    train(mesh, asked_directly)


def right(mesh):
    train(mesh, added_up)


EXHIBIT = Exhibit(
    title="The hooks that nobody called",
    source="pytorch/pytorch #144530",
    date="2025-01-10",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
