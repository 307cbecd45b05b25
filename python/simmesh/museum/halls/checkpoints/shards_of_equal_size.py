"""FSDP2 cuts seven rows into four and three. A moving average of the weights is kept in such
shards, and made whole to be saved. The code built a DTensor from each rank's shard, and didn't say
how large the whole is. Then DTensor takes the local size times the number of ranks: eight on one
rank, six on the other. Each rank expects other messages than the other sends. In the best case they
wait for ever; the report saw that on its first run on GPUs. It shows as two ranks that disagree,
with both sizes.
"""

import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, Schedules


def save(mesh, says_the_shape):
    torch.manual_seed(0)
    model = fully_shard(torch.nn.Linear(2, 7, bias=False), mesh=mesh)
    shadow = model.weight.to_local().detach().clone()
    whole = {"shape": (7, 2), "stride": (2, 1)} if says_the_shape else {}
    return DTensor.from_local(shadow, mesh, [Shard(0)], **whole).full_tensor()


def wrong(mesh):
    return save(mesh, says_the_shape=False)


def right(mesh):
    return save(mesh, says_the_shape=True)


EXHIBIT = Exhibit(
    title="Seven rows are eight, or six",
    source="NCAR/miles-credit PR 416",
    date="2026-06-10",
    check=Schedules(schedules=3),
    wrong=wrong,
    right=right,
    at_fault="all_gather",
)
