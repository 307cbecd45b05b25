"""Ring attention gives each rank a part of the sequence, and sends keys and values around the
ring. In the backward pass they go around once more, and each rank adds the gradients of the part
that is there. diffusers did rotate the keys and values, in local variables. The kernel it called
read others: those that the forward pass had saved in step 0, the rank's own. Outputs and loss are
right. The gradients pair each rank's queries with its own keys, again and again. It shows in the
first gradient behind the attention, far beyond what rounding does.
"""

import math

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


def from_the_rank_before(x, mesh):
    rank, ranks, group = mesh.get_local_rank(), mesh.size(), mesh.get_group()
    y = torch.empty_like(x)
    sent = dist.P2POp(dist.isend, x.contiguous(), group=group, group_peer=(rank + 1) % ranks)
    received = dist.P2POp(dist.irecv, y, group=group, group_peer=(rank - 1) % ranks)
    for work in dist.batch_isend_irecv([sent, received]):
        work.wait()
    return y


class Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, mesh, reads_saved):
        ctx.mesh, ctx.reads_saved = mesh, reads_saved
        scores, own, total = [], (key, value), 0
        for _ in range(mesh.size()):
            scores.append((query @ key.t() / math.sqrt(query.shape[-1])).exp())
            total = total + scores[-1] @ value
            key, value = (from_the_rank_before(each, mesh) for each in (key, value))
        weight = torch.cat(scores, -1).sum(-1, keepdim=True)
        ctx.save_for_backward(query, *own, total / weight, weight)
        return total / weight

    @staticmethod
    def backward(ctx, gradient):
        query, saved_key, saved_value, output, weight = ctx.saved_tensors
        key, value, scale = saved_key, saved_value, 1 / math.sqrt(query.shape[-1])
        of_output = (gradient * output).sum(-1, keepdim=True)
        of_query, of_key, of_value = (torch.zeros_like(each) for each in (query, key, value))
        for _ in range(ctx.mesh.size()):
            k, v = (saved_key, saved_value) if ctx.reads_saved else (key, value)
            shares = (query @ k.t() * scale).exp() / weight
            of_scores = shares * (gradient @ v.t() - of_output) * scale
            of_query = of_query + of_scores @ k
            of_key, of_value = of_key + of_scores.t() @ query, of_value + shares.t() @ gradient
            key, value, of_key, of_value = (
                from_the_rank_before(each, ctx.mesh) for each in (key, value, of_key, of_value)
            )
        return of_query, of_key, of_value, None, None


class Attention(nn.Module):
    def __init__(self, mesh, reads_saved):
        super().__init__()
        self.mesh, self.reads_saved = mesh, reads_saved
        self.query, self.key, self.value = (nn.Linear(2, 2, bias=False) for _ in range(3))

    def forward(self, x):
        return Ring.apply(self.query(x), self.key(x), self.value(x), self.mesh, self.reads_saved)


def train(mesh, reads_saved):
    torch.manual_seed(0)
    attention = Attention(mesh, reads_saved)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    x, weights = (torch.randn(6, 2).chunk(ranks)[rank] for _ in range(2))
    (attention(x) * weights).sum().backward()
    for parameter in attention.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh):
    train(mesh, reads_saved=True)


def right(mesh):
    train(mesh, reads_saved=False)


EXHIBIT = Exhibit(
    title="The ring that stood still",
    source="huggingface/diffusers #14265",
    date="2026-07-21",
    check=SameAsOneDevice(layouts=[{"cp": 3}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of value",
)
