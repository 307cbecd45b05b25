"""A contrastive loss compares each row with all others, also with those of other GPUs. all_gather
has no gradient, so DeCLUTR put its own rows back into what was gathered: each GPU learns through
its own rows, and all GPUs together through all. Added up, that is the whole gradient. But DDP takes
the mean. So the gradient was off by the number of GPUs. The authors scale it now; other libraries
had the same report, among them pytorch-metric-learning. It shows in the first gradient, as a
factor.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def gathered(rows, mesh):
    everyone = [torch.empty_like(rows) for _ in range(mesh.size())]
    dist.all_gather(everyone, rows.detach(), group=mesh.get_group())
    everyone[mesh.get_local_rank()] = rows
    return torch.cat(everyone)


def train(mesh, scales):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 3), process_group=mesh.get_group())
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    rows = gathered(model(mine), mesh)
    loss = F.cross_entropy(rows @ rows.t(), torch.arange(len(X)).roll(1))
    (loss * mesh.size() if scales else loss).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, scales=False)


def right(mesh):
    train(mesh, scales=True)


EXHIBIT = Exhibit(
    title="Each GPU learns through its own rows, and DDP takes the mean",
    source="JohnGiorgi/DeCLUTR PR 212, KevinMusgrave/pytorch-metric-learning #363",
    date="2021-05-08",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
