"""Added up in several units.

Each process has a gradient scaler, and nothing keeps their scales equal. As soon as one rank
overflows alone, or starts with another scale, DDP adds up gradients that are scaled by different
numbers. Each rank then divides the same sum by its own scale, and takes another step. The weights
drift apart, although gradients were reduced in every step. The scaler's own check for infinities
sees nothing.
"""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, scale_of):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale_of(mesh.get_local_rank()))
    batch = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(model(batch).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def wrong(mesh):
    train(mesh, lambda rank: 2.0 ** (10 - rank))


def right(mesh):
    train(mesh, lambda rank: 2.0**10)


EXHIBIT = Exhibit(
    title="Each rank has its own scale",
    source="pytorch/pytorch #136009",
    date="2024-09-13",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="scaler.scale",
)
