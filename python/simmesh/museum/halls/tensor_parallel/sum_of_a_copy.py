"""A collective wants its elements side by side, so a helper makes a contiguous copy where they
are not. Megatron's reduce did that with a transposed tensor, added up the copy over ranks, and
returned the tensor that it had been given. For contiguous tensors the copy is the tensor itself,
so all tests of the helper passed. For the others the sum was computed, sent through the network,
and thrown away. Each rank went on with its own part, as if it were the whole. It shows as a
gradient that is a part of a sum.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


def reduce_a_copy(x, group):
    dist.all_reduce(x.contiguous(), group=group)
    return x


def reduce(x, group):
    x = x.contiguous()
    dist.all_reduce(x, group=group)
    return x


def train(mesh, reduce):
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    rows = torch.randn(4, 4).chunk(mesh.size())[mesh.get_local_rank()]
    layer(rows).square().sum().backward()
    layer.bias.grad = reduce(layer.bias.grad, mesh.get_group())
    layer.weight.grad = reduce(layer.weight.grad.t(), mesh.get_group()).t()


def wrong(mesh):
    train(mesh, reduce_a_copy)


def right(mesh):
    train(mesh, reduce)


EXHIBIT = Exhibit(
    title="The sum that was thrown away",
    source="NVIDIA/Megatron-LM PR 5338",
    date="2026-07-02",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
