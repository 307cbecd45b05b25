"""A fast all-reduce for few ranks works without messages: each rank writes its part into memory
that all see. Then it must know that the others have written, and at the end that they have read.
aiter's kernel returned when it had read everything itself. The caller writes the next input into
the same memory, while a slow peer still reads the last one. The sum on that peer mixes two steps.
It needs a peer that is slow by a hair's breadth. Here each part is sent by messages; the fault is
the same: writing what a peer hasn't read. It shows at the line that writes.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def all_reduce(shared, waits_for_peers):
    peer, theirs = 1 - dist.get_rank(), torch.empty_like(shared)
    read_by_peer = dist.isend(shared, peer)
    dist.recv(theirs, peer)
    if waits_for_peers:
        read_by_peer.wait()
    return shared + theirs, read_by_peer


def steps(waits_for_peers):
    shared = torch.ones(2)
    first, read_by_peer = all_reduce(shared, waits_for_peers)
    shared.fill_(2)
    if not waits_for_peers:
        read_by_peer.wait()
    second, read_by_peer = all_reduce(shared, True)
    return first, second


def wrong():
    return steps(waits_for_peers=False)


def right():
    return steps(waits_for_peers=True)


EXHIBIT = Exhibit(
    title="Written over before it was read",
    source="ROCm/aiter PR 4082",
    date="2026-07-05",
    check=Accesses(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="shared.fill_(2)",
)
