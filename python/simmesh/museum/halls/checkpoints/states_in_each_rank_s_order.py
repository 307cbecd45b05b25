"""The states of an optimizer are a dictionary. FSDP goes through it on every rank and gathers one
state after the other. A new optimizer makes its states in one order. After a load the order is that
of the file, or of the code that read it, and a rank may have read another one. Then one rank gives
its first moments to the gather and another one its second moments. Shapes fit, so nothing fails,
and the checkpoint has a moment that is half of each. PyTorch sorts the names now. It shows in the
states of the training that continues.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Model(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        rows = torch.randn(2, 4).chunk(mesh.size())[mesh.get_local_rank()]
        self.weight = nn.Parameter(rows.clone())

    def forward(self, x):
        return x @ self.weight.t()


def gathered(state, names, mesh):
    whole = {}
    for name in names:
        if state[name].dim() == 0:
            whole[name] = state[name]
            continue
        parts = [torch.empty_like(state[name]) for _ in range(mesh.size())]
        dist.all_gather(parts, state[name], group=mesh.get_group())
        whole[name] = torch.cat(parts)
    return whole


def train(mesh, folder, steps, order):
    torch.manual_seed(0)
    model, rank, size = Model(mesh), mesh.get_local_rank(), mesh.size()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    file, first = folder / "state.pt", 0
    if file.exists():
        first, weight, whole = torch.load(file)
        model.weight.data.copy_(weight.chunk(size)[rank])
        mine = {key: each.chunk(size)[rank] if each.dim() else each for key, each in whole.items()}
        optimizer.state[model.weight] = mine
    for step in range(first, steps):
        optimizer.zero_grad()
        (model(X) - step).square().sum().backward()
        optimizer.step()
    state = optimizer.state[model.weight]
    whole = gathered(state, order(state, rank), mesh)
    parts = [torch.empty_like(model.weight) for _ in range(size)]
    dist.all_gather(parts, model.weight.detach(), group=mesh.get_group())
    if rank == 0:
        torch.save((steps, torch.cat(parts), whole), file)
    dist.barrier()


def as_they_were_read(state, rank):
    return list(state) if rank == 0 else list(reversed(state))


def by_name(state, rank):
    return sorted(state)


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, as_they_were_read)


def right(mesh, folder, steps):
    train(mesh, folder, steps, by_name)


EXHIBIT = Exhibit(
    title="States in each rank's own order",
    source="pytorch/pytorch PR 84654",
    date="2022-09-07",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(2, 3)),
    wrong=wrong,
    right=right,
    at_fault="optimizer state exp_avg",
)
