"""A trainer sends new weights to the workers that generate text, and goes on with the next step.
The call that sends them returns when the sending is under way. The next step writes into the
weights. A worker that is slow gets some old and some new ones. ms-swift has a report of it: the
sync returned before its peers had read the buffer. Text that such a worker writes is a little
strange, and is then trained on. It shows at the line that writes, and the line of the transfer
that hasn't been waited for.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def step(waits):
    weights = torch.ones(4) * dist.get_rank()
    sent = dist.broadcast(weights, 0, async_op=True)
    if waits:
        sent.wait()
    if dist.get_rank() == 0:
        weights.add_(0.1)
    sent.wait()
    return weights


def wrong():
    return step(waits=False)


def right():
    return step(waits=True)


EXHIBIT = Exhibit(
    title="Half of yesterday's weights",
    source="modelscope/ms-swift #10204",
    date="2026-09-19",
    check=Accesses(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="weights.add_(0.1)",
)
