"""A trainer takes four parts of a batch before it steps. DDP should reduce with the last one, so
the others run inside of no_sync. FunASR asked for ``index % 4``: that is zero for the first part.
The first part's gradients were reduced, and the rest stayed on their rank. Each rank then stepped
with its own gradients. A reviewer ran it on two processes before and after: 4.0 and 7.0, where 5.5
and 5.5 are right. The ranks' models drift apart, and rank 0's is saved. It shows in the gradients
of the first step.
"""

import contextlib

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))
ACCUM_GRAD = 4


def train(mesh, waits):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    for batch_idx, part in enumerate(mine.chunk(ACCUM_GRAD)):
        with model.no_sync() if waits(batch_idx) else contextlib.nullcontext():
            (model(part).square().mean() / ACCUM_GRAD).backward()
        if (batch_idx + 1) % ACCUM_GRAD == 0:
            optimizer.step()
            optimizer.zero_grad()


def wrong(mesh):
    train(mesh, lambda batch_idx: batch_idx % ACCUM_GRAD != 0)


def right(mesh):
    train(mesh, lambda batch_idx: (batch_idx + 1) % ACCUM_GRAD != 0)


EXHIBIT = Exhibit(
    title="The first part is reduced, and not the last",
    source="modelscope/FunASR PR 3472",
    date="2026-08-05",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
