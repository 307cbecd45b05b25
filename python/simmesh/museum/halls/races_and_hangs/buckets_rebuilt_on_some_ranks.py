"""DDP decides after the first step how it groups gradients, by the order in which they came. Each
rank does so when it has seen its gradients, and then all agree by a collective. A rank whose step
has none has seen nothing, and doesn't rebuild. Its next collective is another one than its
peers'. In PyTorch an exchange of tokens met a reduction. Backends that don't compare what meets
add up what was meant for somebody else, or hang. It shows as two calls that meet and aren't the
same, with both lines.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def rebuild(order):
    dist.broadcast(order, 0)


def step(asks_all):
    has_gradients = torch.tensor(float(dist.get_rank() == 0))
    if asks_all:
        dist.all_reduce(has_gradients)
    if has_gradients:
        rebuild(torch.arange(2.0))
    tokens = torch.ones(2)
    received = torch.empty(2)
    dist.all_to_all_single(received, tokens)
    return received


def wrong():
    return step(asks_all=False)


def right():
    return step(asks_all=True)


EXHIBIT = Exhibit(
    title="An exchange that met a reduction",
    source="pytorch/pytorch PR 72843",
    date="2022-02",
    check=Schedules(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="dist.broadcast(order, 0)",
)
