"""Tensor-parallel ranks work on one batch. So only rank 0 loads it, and broadcasts it to the
others. Megatron's loader draws random numbers, for the order of the data, and it ran on rank 0
alone. From then on rank 0's generator was ahead of its neighbours'. The next to draw is the
dropout of activations that all ranks have alike, and they weren't alike any more. Each rank
dropped others, and one model computed with two sets of activations. It shows as soon as replicas
are compared: values that must agree differ by rank.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Replicas


def order_by_the_generator():
    return torch.randperm(4)


def order_by_its_own():
    return torch.randperm(4, generator=torch.Generator().manual_seed(3))


def train(mesh, order):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    rows = torch.empty(4, 3)
    if mesh.get_local_rank() == 0:
        rows = torch.arange(12.0).view(4, 3)[order()]
    dist.broadcast(rows, 0)
    model(rows).sum().backward()


def wrong(mesh):
    train(mesh, order_by_the_generator)


def right(mesh):
    train(mesh, order_by_its_own)


EXHIBIT = Exhibit(
    title="Rank 0 drew once more",
    source="NVIDIA/Megatron-LM PR 206",
    date="2022-04-17",
    check=Replicas(layout={"tp": 2}),
    wrong=wrong,
    right=right,
    at_fault="gradient of 0.weight",
)
