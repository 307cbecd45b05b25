"""A batch of texts that are too short has nothing to learn from. A trainer skipped it: a message in
the log, and on to the next batch. Each rank has other texts, and decides alone. A rank that skips
takes no part in the sum of gradients, in which the others wait. Either all stand still, or the next
batch of one rank is added to the last one of another. The old code had a comment which says that
short texts must be filtered out before. The cure asks all ranks, and all skip together.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh.museum import Exhibit, Schedules

TEXTS = [[torch.ones(5, 3), torch.ones(4, 3)], [torch.ones(1, 3), torch.ones(6, 3)]]


def is_long_enough(text, mesh, asks_all):
    enough = torch.tensor(int(len(text) > 2))
    if asks_all:
        dist.all_reduce(enough, op=dist.ReduceOp.MIN, group=mesh.get_group())
    return bool(enough)


def train(mesh, asks_all):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(3, 1), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for text in TEXTS[mesh.get_local_rank()]:
        if not is_long_enough(text, mesh, asks_all):
            continue
        model(text).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def wrong(mesh):
    train(mesh, asks_all=False)


def right(mesh):
    train(mesh, asks_all=True)


EXHIBIT = Exhibit(
    title="A rank that skips alone",
    source="NVIDIA-NeMo/Automodel PR 2468",
    date="2026-06-09",
    check=Schedules(schedules=3),
    wrong=wrong,
    right=right,
    at_fault="model(text).mean().backward()",
)
