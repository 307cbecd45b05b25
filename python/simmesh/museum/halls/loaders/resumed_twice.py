"""The first restart works.

A stream keeps its place in a dict that the checkpoint refers to. Loading a checkpoint made a new
dict, from which reading went on at the right place, while the checkpoint kept referring to the old
one. So a run that was resumed once read on correctly, and every checkpoint that it wrote said that
nothing had been read. The second restart began with the first row. Tests of restarts stop once; it
took a run that was resumed twice to see another loss.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(32, 4, generator=torch.Generator().manual_seed(1))


class Stream:
    def __init__(self):
        self.inner = {"place": 0}
        self.state = {"stream": self.inner}

    def load(self, state, rebinds):
        if rebinds:
            self.inner = dict(state["stream"])
        else:
            self.inner.update(state["stream"])

    def next(self):
        place = self.inner["place"]
        self.inner["place"] = place + 4
        return X[place : place + 4]


def train(mesh, folder, steps, rebinds):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stream, file, first = Stream(), folder / "state.pt", 0
    if file.exists():
        first, weights, state = torch.load(file)
        model.load_state_dict(weights)
        stream.load(state, rebinds)
    for _ in range(first, steps):
        optimizer.zero_grad()
        rows = rows_of(mesh.get_local_rank(), mesh.size(), 4)
        model(stream.next()[rows]).square().mean().backward()
        optimizer.step()
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), stream.state), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, rebinds=True)


def right(mesh, folder, steps):
    train(mesh, folder, steps, rebinds=False)


EXHIBIT = Exhibit(
    title="The second restart begins anew",
    source="huggingface/datasets PR 8295",
    date="2026-06-30",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}, {"dp": 2}], steps=(2, 4, 6)),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
