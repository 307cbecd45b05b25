"""The same noise for other pictures.

A trainer sets the same seed on all ranks, as it must for equal weights. Noise and time steps of
flow matching are then drawn from the same generator, so row 3 of each rank gets the same noise and
the same time. A batch of many rows has the variety of one rank's. Nothing fails, and the gradient
has more variance than its batch size says. A user found it by printing the numbers on two ranks. A
seed by the number of the row in the whole batch makes the noise that of one device.
"""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Noise(nn.Module):
    def __init__(self, generators):
        super().__init__()
        self.generators = generators

    def forward(self, x):
        rows = [torch.randn(x.shape[1], generator=each) for each in self.generators]
        return x + torch.stack(rows)


def train(mesh, number_of):
    torch.manual_seed(0)
    mine = rows_of(mesh.get_local_rank(), mesh.size(), len(X))
    rows = range(mine.stop - mine.start)
    seeds = [number_of(row, mine.start) for row in rows]
    noise = Noise([torch.Generator().manual_seed(100 + seed) for seed in seeds])
    model = DistributedDataParallel(nn.Linear(4, 4), process_group=mesh.get_group())
    (model(noise(X[mine])) - X[mine]).square().mean().backward()


def wrong(mesh):
    train(mesh, lambda row, first: row)


def right(mesh):
    train(mesh, lambda row, first: first + row)


EXHIBIT = Exhibit(
    title="One noise for all ranks",
    source="Robbyant/lingbot-vla-v2 #41",
    date="2026-09-21",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Noise",
)
