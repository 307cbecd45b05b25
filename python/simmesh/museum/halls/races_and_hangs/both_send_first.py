"""Two ranks exchange tensors. Each sends its own and then receives the other's. A send may return
as soon as the tensor is copied somewhere, or only when the other side takes it. If it waits, both
ranks wait to be received from, and nobody receives. A report to PyTorch tells of interleaved
sends and receives that hang. People then ask which orders are safe. With small tensors and the
CPU's backend it passes, with large ones or on GPUs it stands still. It shows with the first
tensor, whatever its size: both lines, and that each waits for the other.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def exchange(sends_first):
    mine, theirs, peer = torch.ones(2), torch.empty(2), 1 - dist.get_rank()
    if sends_first:
        dist.send(mine, peer)
    dist.recv(theirs, peer)
    if not sends_first:
        dist.send(mine, peer)
    return theirs


def wrong():
    return exchange(sends_first=True)


def right():
    return exchange(sends_first=dist.get_rank() == 0)


EXHIBIT = Exhibit(
    title="After you. No, after you",
    source="pytorch/pytorch #109401",
    date="2023-09",
    check=Schedules(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="deadlock",
)
