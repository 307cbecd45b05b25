"""The check that came too late.

Rank 0 reads a checkpoint and scatters its parts. Before that it should see whether the structure of
the file is the one that the model has. In miles the check stood in the function that prepares the
parts, on rank 0 alone. All other ranks had entered the scatter by then. When the structures
differed, rank 0 raised and the rest waited in the collective until the watchdog ended them, minutes
later, with the stack of the scatter and not of the cause. Checking first, on all ranks or with a
broadcast of the outcome, costs nothing.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def load(names: list[str], checks_first: bool) -> list[Any]:
    model_names = ["bias", "weight"]
    fits = torch.tensor(int(names == model_names))
    if checks_first:
        dist.broadcast(fits, src=0)
        if not fits.item():
            return ["another structure"]
    if dist.get_rank() == 0 and not fits.item():
        return ["another structure"]
    part = torch.empty(2)
    parts = list(torch.arange(8.0).split(2)) if dist.get_rank() == 0 else None
    dist.scatter(part, parts, src=0)
    return part.tolist()


def wrong() -> None:
    load(["weight"], checks_first=False)


def right() -> None:
    load(["weight"], checks_first=True)


EXHIBIT = Exhibit(
    title="The structure is checked when the others are in the scatter",
    source="radixark/miles PR 2516",
    date="2026-08-26",
    check=Schedules(ranks=4, schedules=3),
    wrong=wrong,
    right=right,
    at_fault="dist.scatter(part, parts, src=0)",
)
