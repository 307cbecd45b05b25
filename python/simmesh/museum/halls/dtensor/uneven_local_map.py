"""``local_map`` lets a plain function run on the pieces of distributed tensors. Then it must say
how large the whole result is. Its rule: the piece's size times the number of ranks. Seven rows on
two ranks are four and three. Rank 0 says that the whole has eight rows, rank 1 says six. Each
rank goes on with a tensor of another shape, and what is gathered has a row too many or one too
few. Training data seldom has a number of rows that ranks divide, at the end of an epoch it has
another one. The report was closed by a change that asks all ranks for their sizes. It shows in
the result: ranks don't even agree on its shape.
"""

import torch
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from simmesh.museum import Exhibit, SameAsOneDevice


def by_its_own_size(function, x):
    piece = function(x.to_local())
    return DTensor.from_local(piece, x.device_mesh, [Shard(0)])


def by_the_sizes_of_all(function, x):
    piece = function(x.to_local())
    return DTensor.from_local(
        piece, x.device_mesh, [Shard(0)], shape=x.shape, stride=x.stride(), run_check=False
    )


def run(mesh, local_map):
    x = distribute_tensor(torch.arange(14.0).view(7, 2), mesh, [Shard(0)])
    y = local_map(torch.tanh, x)
    return y.sum(0).full_tensor() / len(y)


def wrong(mesh):
    return run(mesh, by_its_own_size)


def right(mesh):
    return run(mesh, by_the_sizes_of_all)


EXHIBIT = Exhibit(
    title="Eight rows, or six, of seven",
    source="pytorch/pytorch #172812",
    date="2026-01",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
