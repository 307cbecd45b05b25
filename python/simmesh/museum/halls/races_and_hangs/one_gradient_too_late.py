"""Megatron's sharded training has two buffers for gradients: one is filled while the other is
reduced. So before a bucket gets a buffer, the reduction that used it last must be over. The limit
was enforced when the next bucket was fetched. By then the first gradient had been written
already. One gradient of each bucket could land in a buffer that others were still reading. It is
one line in the wrong place, and one gradient of hundreds. It shows at the line that writes, and
the line of the reduction that is under way.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def backward(waits_first):
    buffers, works = [torch.zeros(3) for _ in range(2)], []
    for bucket in range(3):
        buffer = buffers[bucket % 2]
        if waits_first and bucket >= 2:
            works[bucket - 2].wait()
        for index in range(3):
            buffer[index].fill_(bucket)
            if index == 0 and bucket >= 2:
                works[bucket - 2].wait()
        works.append(dist.all_reduce(buffer, async_op=True))
    for work in works:
        work.wait()
    return torch.cat(buffers)


def wrong():
    return backward(waits_first=False)


def right():
    return backward(waits_first=True)


EXHIBIT = Exhibit(
    title="One gradient too late",
    source="NVIDIA/Megatron-LM PR 5222",
    date="2026-06-09",
    check=Accesses(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="buffer[index].fill_(bucket)",
)
