"""The first stage of a pipeline has the embedding and the last one the output layer, and both are
one matrix. Their gradients are added up over the two stages. With a sharded optimizer gradients are
also reduced over the data ranks, and each rank keeps the sum of its own part only; the rest of the
buffer is left as it was. Megatron did this first. The embedding is the first weight of its stage
and the output layer the last of its own, so one rank had the finished gradient of the one and the
raw one of the other. It added these up. The report has the algebra in four tables. It shows in the
gradient of the shared matrix.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


def reduce_scatter(buffer, mesh):
    """Each rank has the sum of its own half; the other half stays as it was."""
    rank, size = mesh["dp"].get_local_rank(), mesh["dp"].size()
    total = torch.empty_like(buffer.chunk(size)[rank])
    dist.reduce_scatter_tensor(total, buffer.clone(), group=mesh["dp"].get_group())
    buffer.chunk(size)[rank].copy_(total)


def gather(buffer, mesh):
    rank, size = mesh["dp"].get_local_rank(), mesh["dp"].size()
    mine = buffer.chunk(size)[rank].clone()
    dist.all_gather_into_tensor(buffer, mine, group=mesh["dp"].get_group())


def train(mesh, ties_first):
    torch.manual_seed(0)
    tied, other = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.randn(3, 3))
    x = X[rows_of(mesh["dp"].get_local_rank(), mesh["dp"].size(), len(X))]
    stage, stages = mesh["pp"].get_local_rank(), mesh["pp"].size()
    is_first = stage == 0
    (((x @ tied @ other).tanh() @ tied.t()).square().sum() / len(X)).backward()
    share = tied.grad / stages  # that of one of the two uses
    buffer = torch.cat([share, torch.zeros(3, 3)] if is_first else [torch.zeros(3, 3), share])
    place = slice(0, 3) if is_first else slice(3, 6)
    if ties_first and stages > 1:
        dist.all_reduce(buffer[place], group=mesh["pp"].get_group())
    reduce_scatter(buffer, mesh)
    if not ties_first and stages > 1:
        dist.all_reduce(buffer[place], group=mesh["pp"].get_group())
    gather(buffer, mesh)
    tied.grad = buffer[place].clone()
    torch.optim.SGD([tied], lr=0.1).step()


def wrong(mesh):
    train(mesh, ties_first=False)


def right(mesh):
    train(mesh, ties_first=True)


EXHIBIT = Exhibit(
    title="Tied after the gradients were scattered",
    source="NVIDIA/Megatron-LM #844",
    date="2024-05-28",
    check=SameAsOneDevice(layouts=[{"dp": 2, "pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient",
)
