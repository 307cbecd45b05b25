"""A metric of an epoch is a sum, divided by the number of rows. With several ranks Lightning takes
the mean of the sums over ranks, and the mean of the numbers. The sum is a floating number. The
number of rows is a whole one, and so its mean loses what is behind the point: three rows and four
are three and a half, and become three. Every metric is too large by a sixth then. With equal shares
nothing happens, so tests pass. The error is the same for all metrics, which look good together. It
shows in the metric that the program returns.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))


def mean_over_ranks(value, mesh):
    dist.all_reduce(value, group=mesh.get_group())
    return value.copy_(value / mesh.size())


def validate(mesh, dtype):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    value = model(mine).detach().square().sum()
    cumulated_batch_size = torch.tensor(len(mine), dtype=dtype)
    value = mean_over_ranks(value, mesh)
    return {"val_loss": value / mean_over_ranks(cumulated_batch_size, mesh)}


def wrong(mesh):
    return validate(mesh, torch.int64)


def right(mesh):
    return validate(mesh, torch.float32)


EXHIBIT = Exhibit(
    title="Three and a half rows are three",
    source="Lightning-AI/pytorch-lightning #21838",
    date="2026-07-16",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="val_loss",
)
