"""A moving average of the weights may begin at some step only, so a pipeline made it when that step
came. A load happens before. It fills the average if there is one, and there was none yet. So a
training that was stopped long after the average had begun lost it, and began a new one from the
current weights. The change that did this was a cure of another bug, and a review after the merge
found it. Samples are drawn from the average, and losses come from the weights. It shows in the
average that the program notes.
"""

import torch
import torch.distributed as dist
from torch import nn

import simmesh
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
EMA_START_STEP = 1


def train(mesh, folder, steps, makes_first):
    torch.manual_seed(0)
    model, average = nn.Linear(4, 2), None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    file, first = folder / "state.pt", 0
    if file.exists():
        first, weights, saved = torch.load(file)
        model.load_state_dict(weights)
        if makes_first or average is not None:
            average = saved
    mine = X[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    for step in range(first, steps):
        optimizer.zero_grad()
        ((model(mine) - step).square().sum() / len(X)).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        optimizer.step()
        if step >= EMA_START_STEP and average is None:
            average = model.weight.detach().clone()
        elif step >= EMA_START_STEP:
            average.lerp_(model.weight.detach(), 0.1)
    simmesh.note("average", average)
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), average), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, makes_first=False)


def right(mesh, folder, steps):
    train(mesh, folder, steps, makes_first=True)


EXHIBIT = Exhibit(
    title="An average that is made too late",
    source="hao-ai-lab/FastVideo PR 1440",
    date="2026-06-07",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(3, 4)),
    wrong=wrong,
    right=right,
    at_fault="noted value average",
)
