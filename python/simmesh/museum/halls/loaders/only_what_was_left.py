"""Epochs become short.

A run that stops in the middle of an epoch resumes behind the rows that it has seen. The loader kept
that place for good: each later epoch began there too, and went over nothing but the rows that had
been left on the day of the restart. No row is wrong and no message appears, only epochs are short.
Only a run that goes on beyond the end of the epoch in which it was resumed has other bits.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))
BATCHES = 4


def train(mesh, folder, steps, forgets_start):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    file, done, start = folder / "state.pt", 0, 0
    if file.exists():
        done, weights, start = torch.load(file)
        model.load_state_dict(weights)
    while done < steps:
        for place in range(start, BATCHES):
            optimizer.zero_grad()
            batch = X[4 * place : 4 * place + 4]
            batch = batch[rows_of(mesh.get_local_rank(), mesh.size(), 4)]
            model(batch).square().mean().backward()
            optimizer.step()
            done += 1
            if done == steps:
                break
        if forgets_start:
            start = 0
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), steps % BATCHES), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, forgets_start=False)


def right(mesh, folder, steps):
    train(mesh, folder, steps, forgets_start=True)


EXHIBIT = Exhibit(
    title="Epochs of what was left",
    source="huggingface/datasets #7447",
    date="2025-03-12",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(3, 6)),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
