"""The owner speaks to everybody.

Sharded optimizer states give each parameter to one data parallel rank, which steps it and publishes
the result. The broadcast went to all ranks, as the library knew no other group. With tensor
parallelism a neighbour in the other group has another piece of the same shape, and got the owner's
piece instead of its own. Shapes fit, nothing raises, and the halves of each matrix become equal.
The fix passes the data parallel group.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Columns(nn.Module):
    def __init__(self, tp):
        super().__init__()
        whole = [torch.randn(4, 4), torch.randn(4, 4)]
        mine = [each.chunk(tp.size())[tp.get_local_rank()].clone() for each in whole]
        self.first, self.second = (nn.Parameter(each) for each in mine)

    def forward(self, x):
        return torch.cat([x @ self.first.t(), x @ self.second.t()], -1)


def train(mesh, publish):
    torch.manual_seed(0)
    dp, tp = mesh["dp"], mesh["tp"]
    model = Columns(tp)
    model(X[rows_of(dp.get_local_rank(), dp.size(), len(X))]).square().sum().backward()
    for owner, parameter in enumerate(model.parameters()):
        dist.all_reduce(parameter.grad, group=dp.get_group())
        if owner % dp.size() == dp.get_local_rank():
            parameter.data -= 0.01 * parameter.grad
        publish(parameter.data, owner % dp.size(), dp, tp)


def wrong(mesh):
    def publish(weights, owner, dp, tp):
        dist.broadcast(weights, src=owner * tp.size())

    train(mesh, publish)


def right(mesh):
    def publish(weights, owner, dp, tp):
        dist.broadcast(weights, group=dp.get_group(), group_src=owner)

    train(mesh, publish)


EXHIBIT = Exhibit(
    title="Published to all ranks",
    source="facebookresearch/fairscale PR 121",
    date="2020-10-01",
    check=SameAsOneDevice(layouts=[{"dp": 2, "tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="parameter",
)
