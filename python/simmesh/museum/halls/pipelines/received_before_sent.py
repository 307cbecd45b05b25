"""Two ranks that exchange tensors must not both begin by receiving: even ranks send first, odd
ranks receive first. A compiler's pass moves communication forward, so that it overlaps with
computation. From 25 June 2026 PyTorch's nightly had such a pass on by default. It knew that
collectives mustn't pass each other, but took a send of torchcomms for no collective, and moved
the receive in front of it. All ranks began by receiving. Each nightly run of the tests hung until
its limit of 120 minutes ended it, for two weeks. It shows at once where a hang is seen as one:
who waits in which line for whom.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def actions(rank):
    return ["send", "recv"] if rank % 2 == 0 else ["recv", "send"]


def moved_forward(actions):
    return sorted(actions, key=lambda action: action != "recv")


def exchange(optimize):
    rank = dist.get_rank()
    mine, theirs, peer = torch.ones(2) * rank, torch.empty(2), rank ^ 1
    for action in optimize(actions(rank)):
        if action == "send":
            dist.send(mine, peer)
        else:
            dist.recv(theirs, peer)
    return theirs


def wrong():
    return exchange(moved_forward)


def right():
    return exchange(lambda actions: actions)


EXHIBIT = Exhibit(
    title="Two weeks of nightly hangs",
    source="meta-pytorch/torchcomms PR 3095",
    date="2026-07-09",
    check=Schedules(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="dist.recv(theirs, peer)",
)
