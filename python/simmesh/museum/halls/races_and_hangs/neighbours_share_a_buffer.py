"""Sharded weights are gathered just before a layer needs them, and the next layer's a little
earlier. To save memory, layers take their buffers from a small pool. In Megatron two neighbours
got the same buffer. While one computes, the weights of the next arrive in it. If the network is
slower than the layer, all is well; if it is faster, a layer computes with its neighbour's
weights. On a test machine it is slower. It shows at the line that reads the buffer, and the line
of the gather that is under way.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def forward(pool):
    shards = [torch.ones(2) * number for number in range(2)]
    ranks = dist.get_world_size()
    buffers = [torch.zeros(2 * ranks) for _ in range(pool)]
    x = torch.ones(2 * ranks)
    arriving = dist.all_gather_into_tensor(buffers[0], shards[0], async_op=True)
    for number in range(2):
        arriving.wait()
        if number + 1 < len(shards):
            buffer = buffers[(number + 1) % pool]
            arriving = dist.all_gather_into_tensor(buffer, shards[number + 1], async_op=True)
        x = x + buffers[number % pool]
    return x


def wrong():
    return forward(pool=1)


def right():
    return forward(pool=2)


EXHIBIT = Exhibit(
    title="The neighbour's weights",
    source="NVIDIA/Megatron-LM PR 6207",
    date="2026-08",
    check=Accesses(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="x = x + buffers[number % pool]",
)
