"""In April 2026 a training of recommenders stood still. Sixty-two ranks had started an exchange
in one group, and waited for it. Two had fallen behind: they waited for a reduction in another
group, whose other members were among the sixty-two. What made them wait there was a
synchronization that no one had written: turning a tensor into a list waits for all work before
it. Each group is complete in its own log, and no rank does anything wrong by itself. torchrec
made a benchmark of it: two groups, two collectives, another order. It shows as a circle through
both groups, with the lines.
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
    date="2026-04-22",
    check=Schedules(ranks=4),
    wrong=wrong,
    right=right,
    at_fault="all_reduce #0 of 1 [2, 3]",
)
