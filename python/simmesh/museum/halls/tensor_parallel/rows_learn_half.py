"""Tables of a recommender are cut by rows, and the dense layers are copied. DDP takes the mean of
the dense gradients. A row lives on one rank, and its gradient comes from all of them; there is
nothing to average. TorchRec divides it by the number of ranks, to be like DDP's mean of local
means. A user whose loss is a sum saw rows that learn a half on two ranks and a quarter on four,
with every optimizer. Whether that is meant depends on the loss, and nobody had said which. It shows
in the gradient of the table.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

KEYS = torch.tensor([0, 1, 2, 3, 2, 7])


class Lookup(torch.autograd.Function):
    """Each rank asks for its keys; the rows of all ranks are exchanged."""

    @staticmethod
    def forward(ctx, weight, keys, mesh, divides):
        size, rank = mesh.size(), mesh.get_local_rank()
        every = [torch.empty_like(keys) for _ in range(size)]
        dist.all_gather(every, keys, group=mesh.get_group())
        index = torch.cat(every) - rank * len(weight)
        is_mine = (index >= 0) & (index < len(weight))
        rows = weight[index.clamp(0, len(weight) - 1)] * is_mine[:, None]
        dist.all_reduce(rows, group=mesh.get_group())
        ctx.save_for_backward(weight, index, is_mine)
        ctx.mesh, ctx.divides = mesh, divides
        return rows.chunk(size)[rank].clone()

    @staticmethod
    def backward(ctx, gradient):
        weight, index, is_mine = ctx.saved_tensors
        every = [torch.empty_like(gradient) for _ in range(ctx.mesh.size())]
        dist.all_gather(every, gradient.contiguous(), group=ctx.mesh.get_group())
        rows = torch.cat(every) / (ctx.mesh.size() if ctx.divides else 1)
        mine = torch.zeros_like(weight).index_add(0, index[is_mine], rows[is_mine])
        return mine, None, None, None


class Table(nn.Module):
    def __init__(self, mesh, divides):
        super().__init__()
        self.mesh, self.divides = mesh, divides
        self.weight = nn.Parameter(
            torch.randn(8, 4).chunk(mesh.size())[mesh.get_local_rank()].clone()
        )

    def forward(self, keys):
        return Lookup.apply(self.weight, keys, self.mesh, self.divides)


def train(mesh, divides):
    torch.manual_seed(0)
    table = Table(mesh, divides)
    table(KEYS.chunk(mesh.size())[mesh.get_local_rank()]).square().sum().backward()
    torch.optim.SGD(table.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, divides=True)


def right(mesh):
    train(mesh, divides=False)


EXHIBIT = Exhibit(
    title="Rows that learn half",
    source="meta-pytorch/torchrec #2251",
    date="2024-07-27",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Table.weight",
)
