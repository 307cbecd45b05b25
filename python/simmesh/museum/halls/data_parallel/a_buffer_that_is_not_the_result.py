"""PyTorch's gather with a gradient scatters in its backward pass: it makes a buffer, gives it to
the reduction, and returns it. The reduction wants contiguous memory. Where the buffer isn't, it
takes a new one and returns that. The caller kept the old buffer, in which nothing was ever written.
So the gradient was whatever the memory had. It needs a tensor that isn't contiguous, such as a
transposed one, and then it is random. A user found it with four ranks, and it was cured within
days. It shows in the gradient of the layer before the gather.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def reduce_scatter(output, inputs, group):
    """Writes into the output, or returns another tensor."""
    output = output.contiguous()
    dist.reduce_scatter(output, [each.contiguous() for each in inputs], group=group)
    return output


class AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, takes_result):
        ctx.group, ctx.takes_result, ctx.stride = group, takes_result, x.stride()
        parts = [torch.empty(x.shape) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *gradients):
        buffer = torch.empty_strided(gradients[0].shape, ctx.stride).zero_()
        result = reduce_scatter(buffer, gradients, ctx.group)
        return (result if ctx.takes_result else buffer), None, None


def train(mesh, takes_result):
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    columns = AllGather.apply(model(mine).t(), mesh.get_group(), takes_result)
    similar = torch.cat(columns, 1)
    (similar.t() @ similar).tanh().sum().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
        parameter.grad /= mesh.size()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, takes_result=mesh.size() == 1)


def right(mesh):
    train(mesh, takes_result=True)


EXHIBIT = Exhibit(
    title="A buffer in which nothing was written",
    source="pytorch/pytorch PR 120582 (#120386)",
    date="2024-02-25",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of Linear",
)
