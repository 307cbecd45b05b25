"""A sampler that splits rows over ranks gives each rank as many, or one of them would wait in a
collective. Where the number doesn't divide, PyTorch's sampler repeats the first rows. In training
nobody cares. In validation the repeated rows count twice: 22 pictures of 21 in a report of 2026,
and the score depends on the number of GPUs. PyTorch has had this report since 2019. Who compares
two papers by their third digit compares numbers of GPUs as well. It shows in the score that the
program returns.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DistributedSampler

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))


class WithoutPadding(DistributedSampler):
    def __iter__(self):
        return iter(range(self.rank, len(self.dataset), self.num_replicas))


def validate(mesh, kind):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    rows = list(kind(X, mesh.size(), mesh.get_local_rank(), shuffle=False))
    with torch.no_grad():
        scores = model(X[rows])
    total = torch.stack([scores.sum(), torch.tensor(float(len(rows)))])
    dist.all_reduce(total, group=mesh.get_group())
    return {"score": total[0] / total[1]}


def wrong(mesh):
    return validate(mesh, DistributedSampler)


def right(mesh):
    return validate(mesh, WithoutPadding)


EXHIBIT = Exhibit(
    title="Twenty-two pictures of twenty-one",
    source="roboflow/rf-detr #1507, pytorch/pytorch #25162",
    date="2026-09-22",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="score",
)
