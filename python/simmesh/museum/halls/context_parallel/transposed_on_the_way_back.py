"""Attention kernels want heads before tokens, models have tokens before heads, so tensors are
transposed. A context-parallel layer transposed keys and values in its forward pass, and saved
them so. Its backward pass expected them as the model has them, and transposed them again. With as
many heads as a rank has tokens the shapes agree, and the gradients belong to nobody. The forward
pass is right in every bit. It shows in the gradients of queries and keys.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Scores(torch.autograd.Function):
    """Scores of queries and keys of a rank's tokens, head by head."""

    @staticmethod
    def forward(ctx, query, key, transposes_again):
        query, key = query.transpose(0, 1), key.transpose(0, 1)
        ctx.save_for_backward(query, key)
        ctx.transposes_again = transposes_again
        return (query * key).sum(-1).t()

    @staticmethod
    def backward(ctx, gradient):
        query, key = ctx.saved_tensors
        if ctx.transposes_again:
            query, key = query.transpose(0, 1), key.transpose(0, 1)
        gradient = gradient.t()[..., None]
        return (gradient * key).transpose(0, 1), (gradient * query).transpose(0, 1), None


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x, transposes_again):
        query, key = (each(x).unflatten(-1, (2, 2)) for each in (self.query, self.key))
        return Scores.apply(query, key, transposes_again)


def train(mesh, transposes_again):
    torch.manual_seed(0)
    attention = Attention()
    x = torch.randn(4, 3).chunk(mesh.size())[mesh.get_local_rank()]
    attention(x, transposes_again and mesh.size() > 1).square().sum().backward()
    for parameter in attention.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh):
    train(mesh, transposes_again=True)


def right(mesh):
    train(mesh, transposes_again=False)


EXHIBIT = Exhibit(
    title="Transposed once more on the way back",
    source="NVIDIA-NeMo/Automodel PR 3157",
    date="2026-07",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of key",
)
