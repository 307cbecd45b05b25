"""Ulysses exchanges heads for tokens by an all-to-all. An asynchronous variant starts the exchange
of the gradients of keys, does something else, and collects them later. The backward pass of the
keys' norm was among what was done in between. It took the gradients from before the exchange: other
heads' and other tokens' numbers in a tensor of the same shape. The result was thrown away when the
exchange ended, and the gradient of the norm's weight stayed. Sequence-parallel trainings of a video
model were hit. It shows in the gradient of the layer before the norm.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))


def exchanged(value, group):
    """Rows of all heads become all rows of some heads, or the other way round."""
    size = dist.get_world_size(group)
    if value.shape[0] < len(X) or size == 1:
        parts = [part.contiguous() for part in value.chunk(size, 1)]
        dim = 0
    else:
        parts = [part.contiguous() for part in value.chunk(size, 0)]
        dim = 1
    got = [torch.empty_like(part) for part in parts]
    dist.all_to_all(got, parts, group=group)
    return torch.cat(got, dim)


class NormAndExchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, k, weight, group, collects_first):
        ctx.group, ctx.collects_first = group, collects_first
        ctx.save_for_backward(k, weight)
        return exchanged(k * weight, group)

    @staticmethod
    def backward(ctx, gradient):
        k, weight = ctx.saved_tensors
        arrived = exchanged(gradient.contiguous(), ctx.group)
        grad_k = arrived if ctx.collects_first else gradient.reshape(arrived.shape)
        return grad_k * weight, (grad_k * k).sum(0), None, None


class Keys(nn.Module):
    def __init__(self, mesh, collects_first):
        super().__init__()
        self.group, self.collects_first = mesh.get_group(), collects_first
        self.projection, self.weight = nn.Linear(6, 6), nn.Parameter(torch.randn(6))

    def forward(self, x):
        k = self.projection(x)
        return NormAndExchange.apply(k, self.weight, self.group, self.collects_first)


def train(mesh, collects_first):
    torch.manual_seed(0)
    keys = Keys(mesh, collects_first)
    keys(X.chunk(mesh.size())[mesh.get_local_rank()]).tanh().square().sum().backward()
    for parameter in keys.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(keys.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, collects_first=False)


def right(mesh):
    train(mesh, collects_first=True)


EXHIBIT = Exhibit(
    title="The norm goes back before the gradients arrive",
    source="ByteDance-Seed/VeOmni PR 419",
    date="2026-01-22",
    check=SameAsOneDevice(layouts=[{"sp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of projection",
)
