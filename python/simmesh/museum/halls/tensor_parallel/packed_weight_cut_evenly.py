"""Attention often keeps the weights of queries, keys and values in one tensor, one after the
other. Tensor parallelism cuts each of the three over the ranks. A layer of Megatron with gates
and fewer keys than queries cut the packed tensor as a whole, into even pieces. The shapes come
out right. But rank 0 takes for keys what are queries, and rank 1 takes values for keys. Training
from scratch hides it: any cut of random numbers is as good as another. It hurts when such a model
is loaded on another number of ranks, or from a published checkpoint. It shows in the first output
of the layer.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice

SIZES = [8, 4, 4]


def cut_as_one(weight, rank, ranks):
    return weight.chunk(ranks)[rank]


def cut_each(weight, rank, ranks):
    return torch.cat([part.chunk(ranks)[rank] for part in weight.split(SIZES)])


class Attention(nn.Module):
    def __init__(self, mesh, cut):
        super().__init__()
        self.mesh = mesh
        whole = torch.randn(sum(SIZES), 4)
        self.packed = nn.Parameter(cut(whole, mesh.get_local_rank(), mesh.size()).clone())

    def forward(self, x):
        packed = (x @ self.packed.t()).split([size // self.mesh.size() for size in SIZES], -1)
        query, key, value = (each.unflatten(-1, (-1, 2)).transpose(0, 1) for each in packed)
        key, value = (each.repeat_interleave(2, 0) for each in (key, value))
        heads = (query @ key.transpose(-1, -2)).softmax(-1) @ value
        return DTensor.from_local(heads, self.mesh, [Shard(0)]).full_tensor()


def train(mesh, cut):
    torch.manual_seed(0)
    Attention(mesh, cut)(torch.randn(3, 4))


def wrong(mesh):
    train(mesh, cut_as_one)


def right(mesh):
    train(mesh, cut_each)


EXHIBIT = Exhibit(
    title="Values taken for keys",
    source="NVIDIA/Megatron-LM PR 1989",
    date="2025-12-10",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Attention",
)
