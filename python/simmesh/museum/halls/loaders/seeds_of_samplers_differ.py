"""Every rank shuffles another deck.

Each process built its DistributedSampler with a seed made of the time and its rank. A sampler
shuffles all rows and hands each rank every N-th of them, so the parts fit together only if all
ranks shuffle alike. With other seeds some rows are seen twice in an epoch and others never. The
loss falls as it should, and an epoch looks complete. The trainers already shared a seed, and did
not give it to the sampler. A comparison with one device names a row that came twice.
"""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, seed):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1), process_group=mesh.get_group())
    sampler = DistributedSampler(X, mesh.size(), mesh.get_local_rank(), shuffle=True, seed=seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        optimizer.zero_grad()
        model(X[list(sampler)]).square().mean().backward()
        optimizer.step()


def wrong(mesh):
    train(mesh, seed=7 * mesh.get_local_rank())


def right(mesh):
    train(mesh, seed=7)


EXHIBIT = Exhibit(
    title="Every rank shuffles another deck",
    source="NVlabs/LongLive #71",
    date="2026-07-14",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
