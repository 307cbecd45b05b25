"""Validation until the data end.

Training runs for a number of steps, which all ranks know. Torchtitan's validation could also run
until the data end. Data don't end everywhere at once: with 7 rows on two ranks the one has four and
the other three. The rank with the longer part goes on to one more batch, whose forward pass gathers
parameters, and waits for a rank that has left. The job hangs at the end of the first validation,
hours after it began. It is found as soon as no rank can run, with both places.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from simmesh import rows_of
from simmesh.museum import Exhibit, Schedules

X = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))


def validate(agrees: bool) -> torch.Tensor:
    mine = X[rows_of(dist.get_rank(), dist.get_world_size(), len(X))]
    batches = torch.tensor(len(mine))
    if agrees:
        dist.all_reduce(batches, dist.ReduceOp.MIN)
    total = torch.zeros(())
    for row in mine[: int(batches)]:
        loss = row.square().sum()
        dist.all_reduce(loss)
        total += loss
    return total


def wrong() -> torch.Tensor:
    return validate(agrees=False)


def right() -> torch.Tensor:
    return validate(agrees=True)


EXHIBIT = Exhibit(
    title="Validation runs until the data end",
    source="pytorch/torchtitan PR 1634 (#1618)",
    date="2025-08-27",
    check=Schedules(ranks=2, schedules=3),
    wrong=wrong,
    right=right,
    at_fault="dist.all_reduce(loss)",
)
