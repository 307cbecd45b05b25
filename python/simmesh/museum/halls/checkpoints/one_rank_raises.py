"""One rank stopped, and 127 waited.

Before a save, rank 0 looks at the folder. If a checkpoint is there already, it raises an error and
ends. The others look at nothing. They go on to the first collective of the save and wait for rank
0. On a machine that keeps the job alive this is a hang of 128 GPUs with one line in one log. NeMo
Automodel's report (#3254) is such a job. The rule is old: whatever one rank finds out, all must be
told before anybody acts on it. Any schedule shows it at once, since nobody has to wait for a
timeout.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def save(exists: bool, tells_all: bool) -> str:
    problem = torch.tensor(int(exists and dist.get_rank() == 0))
    if tells_all:
        dist.broadcast(problem, src=0)
    if problem.item():
        return "the folder has a checkpoint already"
    shard = torch.full((2,), float(dist.get_rank()))
    dist.all_reduce(shard)
    return "saved"


def wrong() -> None:
    save(exists=True, tells_all=False)


def right() -> None:
    save(exists=True, tells_all=True)


EXHIBIT = Exhibit(
    title="One rank raises, and the others wait",
    source="NVIDIA-NeMo/Automodel PR 3261 (#3254)",
    date="2026-08-04",
    check=Schedules(ranks=4, schedules=3),
    wrong=wrong,
    right=right,
    at_fault="dist.all_reduce(shard)",
)
