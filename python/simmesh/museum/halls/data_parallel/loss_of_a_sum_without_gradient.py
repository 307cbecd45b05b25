"""Some losses need the whole batch: Barlow Twins compares a matrix that is a mean over all rows
with the identity. With several GPUs each has a part of that mean, and lightly added the parts by
``dist.all_reduce``, which autograd doesn't see. The loss is right on every GPU. But each GPU's
gradient flows through its own part, which was divided by the number of GPUs, and DDP then divides
once more. So the backbone learned with half of its gradient on two GPUs, and with an eighth on
eight. The curve of the loss looks normal. It shows in the first gradient.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_reduce
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

A = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
B = torch.randn(8, 4, generator=torch.Generator().manual_seed(2))


class BarlowTwinsLoss(nn.Module):
    def __init__(self, mesh, is_seen_by_autograd):
        super().__init__()
        self.group, self.size = mesh.get_group(), mesh.size()
        self.is_seen_by_autograd = is_seen_by_autograd

    def forward(self, a, b):
        c = a.t() @ b / len(a) / self.size
        if self.is_seen_by_autograd:
            c = all_reduce(c, group=self.group)
        else:
            dist.all_reduce(c, group=self.group)
        return (c - torch.eye(len(c))).square().sum()


def train(mesh, is_seen_by_autograd):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 3), process_group=mesh.get_group())
    loss = BarlowTwinsLoss(mesh, is_seen_by_autograd)
    mine = rows_of(mesh.get_local_rank(), mesh.size(), len(A))
    loss(*model(torch.cat([A[mine], B[mine]])).chunk(2)).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, is_seen_by_autograd=False)


def right(mesh):
    train(mesh, is_seen_by_autograd=True)


EXHIBIT = Exhibit(
    title="A sum that autograd doesn't see",
    source="lightly-ai/lightly #1977",
    date="2026-07-09",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
