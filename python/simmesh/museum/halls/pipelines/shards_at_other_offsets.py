"""A tied embedding is on the first and the last stage, and its gradients are added up between the
two. With sharded gradients each stage keeps all of its gradients in one flat buffer, cut over the
replicas. In one stage the embedding lies at the beginning of the buffer, in the other one at the
end. Megatron added up the raw shards: element by element, whatever weight they belong to. Parts
of the embedding met parts of a norm. Lengths agree, so nothing complains. It shows in the
embedding's gradient.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

WORDS, SIZE = 4, 2


class Ends(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(WORDS, SIZE))
        self.norm = nn.Parameter(torch.ones(WORDS * SIZE))


def flat(gradients):
    return torch.cat([each.flatten() for each in gradients])


def raw_shards(buffers, group):
    dist.all_reduce(buffers["flat"], group=group)


def the_table_alone(buffers, group):
    dist.all_reduce(buffers["table"], group=group)


def train(mesh, add_up):
    torch.manual_seed(0)
    ends = Ends()
    rank, ranks = mesh.get_local_rank(), mesh.size()
    of_first, of_last = torch.randn(WORDS, SIZE), torch.randn(WORDS, SIZE)
    of_norm = torch.randn(WORDS * SIZE)
    if ranks == 1:
        ends.table.grad, ends.norm.grad = of_first + of_last, of_norm
    else:
        # The norm is on the last stage, in front of the table.
        parts = [of_first, of_norm * 0] if rank == 0 else [of_norm, of_last]
        buffer = flat(parts)
        table = buffer[: WORDS * SIZE] if rank == 0 else buffer[WORDS * SIZE :]
        add_up({"flat": buffer, "table": table}, mesh.get_group())
        ends.table.grad = table.view(WORDS, SIZE)
        ends.norm.grad = of_norm
    torch.optim.SGD(ends.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, raw_shards)


def right(mesh):
    train(mesh, the_table_alone)


EXHIBIT = Exhibit(
    title="An embedding added to a norm",
    source="NVIDIA/Megatron-LM PR 6500",
    date="2026-08-13",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of parameter 0",
)
