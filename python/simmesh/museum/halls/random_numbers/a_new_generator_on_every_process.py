"""A sampler shuffles with a generator. Who gives it none gets a new one. accelerate made that new
generator with a fixed seed, the same on every process. For a sampler that all processes share
this is right: each takes its part of one order. For augmentation or noise that each process draws
for its own rows, all of them draw the same. Eight GPUs then add one noise to eight batches, and
the batch is less random than it looks. It shows as numbers of rank 1 that are those of rank 0,
where one device goes on drawing.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

ROWS = 4


def begins_anew(rank, rows):
    return torch.Generator().manual_seed(42)


def begins_at_its_rows(rank, rows):
    generator = torch.Generator().manual_seed(42)
    torch.rand(rank * rows * 3, generator=generator)
    return generator


def train(mesh, make):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    rank, rows = mesh.get_local_rank(), ROWS // mesh.size()
    noise = torch.rand(rows * 3, generator=make(rank, rows)).view(rows, 3)
    model(torch.ones(ROWS, 3).chunk(mesh.size())[rank] + noise)


def wrong(mesh):
    train(mesh, begins_anew)


def right(mesh):
    train(mesh, begins_at_its_rows)


EXHIBIT = Exhibit(
    title="Eight GPUs, one noise",
    source="huggingface/accelerate PR 3459",
    date="2025-03-28",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
