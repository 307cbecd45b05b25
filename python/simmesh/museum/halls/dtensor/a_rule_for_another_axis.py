"""Context parallelism cuts the sequence of queries, keys and values. Their tensors are [rows,
heads, tokens, size], so the sequence is dim 2. torchtitan's wrapper named dim 1, the heads, as an
earlier layout of the tensors had it. Attention may be cut along heads. A rule for that accepted
the tensors, and each rank attended alone. Two mistakes that fit each other: the pieces were cut
along tokens and called heads. It shows in the output of attention: tokens saw their own part of
the text.
"""

import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor, Replicate, Shard

from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS = 2


def attention(query, key, value, dim):
    """Attention of tensors that are cut along a dim; if it is tokens, keys are gathered."""
    mesh = query.device_mesh
    if dim == TOKENS:
        key, value = (each.redistribute(placements=[Replicate()]) for each in (key, value))
    part = F.scaled_dot_product_attention(*(each.to_local() for each in (query, key, value)))
    return DTensor.from_local(part, mesh, [Shard(dim)])


def run(mesh, dim):
    torch.manual_seed(0)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    pieces = (torch.randn(1, 2, 4, 3).chunk(ranks, TOKENS)[rank] for _ in range(3))
    named = [DTensor.from_local(each, mesh, [Shard(dim)]) for each in pieces]
    return attention(*named, dim).to_local()


def wrong(mesh):
    return run(mesh, dim=1)


def right(mesh):
    return run(mesh, dim=TOKENS)


EXHIBIT = Exhibit(
    title="Cut along tokens, called heads",
    source="pytorch/torchtitan PR 3681",
    date="2026-06-16",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
