"""Experts with a capacity get their tokens in one flat buffer: experts, capacity, model. To send
less, each tensor-parallel rank dispatches a part of the capacity, and the parts are gathered
later. DeepSpeed's code cut the last dim of the buffer, the model, and reshaped the piece. The
number of elements is the same either way, so the reshape fits by accident. Each rank sent half of
every token under the name of half of the tokens. It shows in what the experts get.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice

EXPERTS, CAPACITY, MODEL = 2, 4, 4


def cut_model(buffer, rank, ranks):
    piece = buffer.view(-1, MODEL).chunk(ranks, -1)[rank]
    return piece.reshape(EXPERTS, CAPACITY // ranks, MODEL)


def cut_capacity(buffer, rank, ranks):
    return buffer.view(EXPERTS, CAPACITY, MODEL).chunk(ranks, 1)[rank]


def train(mesh, cut):
    torch.manual_seed(0)
    expert = nn.Linear(MODEL, MODEL)
    buffer = torch.randn(EXPERTS * CAPACITY * MODEL)
    y = expert(cut(buffer, mesh.get_local_rank(), mesh.size()))
    return DTensor.from_local(y, mesh, [Shard(1)]).full_tensor().detach()


def wrong(mesh):
    return train(mesh, cut_model)


def right(mesh):
    return train(mesh, cut_capacity)


EXHIBIT = Exhibit(
    title="The reshape that fits by accident",
    source="deepspeedai/DeepSpeed PR 8195",
    date="2026-08-03",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
