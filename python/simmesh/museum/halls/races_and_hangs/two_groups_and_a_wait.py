"""Sixty-four ranks train a recommender. Sixty-two of them wait in a collective of all. Two wait
in one of a small group, and one of these two waits for a rank that is already in the large one.
What held it there was a synchronization with the device that no one had written: copying a number
to the host waits for all work before it, a collective of another group included. The report of
torchrec shows two groups, each complete in its own log, and a job that stands still. It shows as
a circle through both groups.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def step(waits_at_once):
    pair = dist.new_group([2, 3])
    everyone, two = torch.ones(2), torch.ones(2)
    if dist.get_rank() == 3:
        dist.all_reduce(two, group=pair)
        dist.all_reduce(everyone)
    else:
        work = dist.all_reduce(everyone, async_op=True)
        if waits_at_once:
            work.wait()
        if dist.get_rank() == 2:
            dist.all_reduce(two, group=pair)
        work.wait()
    return everyone + two


def wrong():
    return step(waits_at_once=True)


def right():
    return step(waits_at_once=False)


EXHIBIT = Exhibit(
    title="Sixty-two here, two there",
    source="meta-pytorch/torchrec PR 4149",
    date="2026-06",
    check=Schedules(ranks=4),
    wrong=wrong,
    right=right,
    at_fault="dist.all_reduce(two, group=pair)",
)
