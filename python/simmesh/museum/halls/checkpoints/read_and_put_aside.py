"""A load reads a file into a dictionary, and gives the dictionary to its owner. For the optimizer
of Automodel the second half went missing in a refactoring. The states were read from disk, which
takes its time and looks like work, and nobody called load_state_dict. The optimizer began with
empty moments, and the schedule with step 0. A user saw the learning rate jump. A test compared the
loss after a load, within a tolerance. It shows in the first state of the optimizer after the load.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def load(file, model, optimizer, hands_over):
    steps, weights, states = torch.load(file)
    model.load_state_dict(weights)
    if hands_over:
        optimizer.load_state_dict(states)
    return steps


def train(mesh, folder, steps, hands_over):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    file = folder / "state.pt"
    first = load(file, model, optimizer, hands_over) if file.exists() else 0
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    for step in range(first, steps):
        optimizer.zero_grad()
        ((model(mine) - step).square().sum() / len(X)).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        optimizer.step()
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), optimizer.state_dict()), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, hands_over=False)


def right(mesh, folder, steps):
    train(mesh, folder, steps, hands_over=True)


EXHIBIT = Exhibit(
    title="Read, and put aside",
    source="NVIDIA-NeMo/Automodel #763",
    date="2025-11-04",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(2, 3)),
    wrong=wrong,
    right=right,
    at_fault="of Linear.weight",
)
