"""A validation loss that grew with the ranks.

Torchtitan adds the validation loss up over all ranks and divides by the number of all tokens. Ranks
of context parallelism share the tokens of one row. Both the loss and the tokens must be added up
over them, each of them once. The loss was reduced inside of the loop already, and once more at its
end. So the value that decides which model is kept was too large, by the number of ranks in one dim.
Nobody compares validation losses of two layouts by hand, and training itself was right.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 4, 2, generator=torch.Generator().manual_seed(1))


def validate(mesh: DeviceMesh, counts_again: bool) -> torch.Tensor:
    torch.manual_seed(0)
    model, dp, cp = nn.Linear(2, 2), mesh["dp"], mesh["cp"]
    mine = X[rows_of(dp.get_local_rank(), dp.size(), 4)]
    mine = mine[:, rows_of(cp.get_local_rank(), cp.size(), 4)]
    with torch.no_grad():
        total = model(mine).square().sum()
    dist.all_reduce(total, group=cp.get_group())
    if counts_again:
        dist.all_reduce(total, group=cp.get_group())
    dist.all_reduce(total, group=dp.get_group())
    return total / X.numel()


def wrong(mesh: DeviceMesh) -> torch.Tensor:
    return validate(mesh, counts_again=True)


def right(mesh: DeviceMesh) -> torch.Tensor:
    return validate(mesh, counts_again=False)


EXHIBIT = Exhibit(
    title="A validation loss that counts ranks twice",
    source="pytorch/torchtitan PR 4167",
    date="2026-08-18",
    check=SameAsOneDevice(layouts=[{"dp": 2, "cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
