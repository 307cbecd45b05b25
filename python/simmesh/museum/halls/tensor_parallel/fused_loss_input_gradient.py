"""A fused kernel computes logits and loss at once, and the gradients too, so that logits are
never kept. With the vocabulary cut over ranks, each rank's kernel finds the gradient of the
hidden states that comes from its own words. These are parts of a sum. The kernel of ml-cross-
entropy returned its part as the whole gradient. The loss is right, and so is the gradient of the
head. Every layer below learns from some of the words only, and other ones on each rank. It shows
in the first gradient below the head: a part of a sum.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class FusedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, target, mesh, reduce):
        logits = hidden @ head.t()
        total = logits.exp().sum(-1, keepdim=True)
        dist.all_reduce(total, group=mesh.get_group())
        words = torch.arange(len(head)) + mesh.get_local_rank() * len(head)
        is_target = target[:, None] == words
        gradient = logits.exp() / total - is_target.float()
        ctx.gradients = reduce(gradient @ head, mesh), gradient.t() @ hidden
        at_target = (logits * is_target).sum(-1, keepdim=True)
        dist.all_reduce(at_target, group=mesh.get_group())
        return (total.log() - at_target).sum()

    @staticmethod
    def backward(ctx, gradient):
        return *(gradient * each for each in ctx.gradients), None, None, None


def own_part(gradient, mesh):
    return gradient


def summed(gradient, mesh):
    dist.all_reduce(gradient, group=mesh.get_group())
    return gradient


def train(mesh, reduce):
    torch.manual_seed(0)
    body = nn.Linear(4, 4)
    head = torch.randn(6, 4).chunk(mesh.size())[mesh.get_local_rank()].clone().requires_grad_()
    loss = FusedLoss.apply(body(torch.randn(3, 4)), head, torch.tensor([5, 0, 3]), mesh, reduce)
    loss.backward()
    return loss.detach(), head.grad


def wrong(mesh):
    return train(mesh, own_part)


def right(mesh):
    return train(mesh, summed)


EXHIBIT = Exhibit(
    title="The kernel that kept its part",
    source="apple/ml-cross-entropy PR 42",
    date="2025-05-28",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
