"""A row-parallel layer has some columns of the weight on each rank, and scatters its output over
the rows. In the backward pass the gradient of the output is gathered, and each rank multiplies it
with its own columns. To overlap the two, nanotron multiplied the rows that it has already, and then
gathered the products. But those of other ranks are made with other columns. Each rank got the same
gradient, of which its own quarter was right on four ranks. A reader asked, in January 2024, and the
cure came in May, with the test that was missing. It shows in the gradient of the layer before.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def gathered(rows, group):
    whole = [torch.empty_like(rows) for _ in range(dist.get_world_size(group))]
    dist.all_gather(whole, rows.contiguous(), group=group)
    return torch.cat(whole)


class RowLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, group, gathers_gradient):
        ctx.save_for_backward(x, weight)
        ctx.group, ctx.gathers_gradient = group, gathers_gradient
        part = x @ weight.t()
        mine = torch.empty_like(part.chunk(dist.get_world_size(group))[0])
        dist.reduce_scatter_tensor(mine, part, group=group)
        return mine

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        whole = gathered(gradient, ctx.group)
        if ctx.gathers_gradient:
            of_input = whole @ weight
        else:
            of_input = gathered(gradient @ weight, ctx.group)
        return of_input, whole.t() @ x, None, None


class Mlp(nn.Module):
    def __init__(self, mesh, gathers_gradient):
        super().__init__()
        self.group, self.gathers_gradient = mesh.get_group(), gathers_gradient
        rank, size = mesh.get_local_rank(), mesh.size()
        self.up = nn.Parameter(torch.randn(6, 3).chunk(size)[rank].clone())
        self.down = nn.Parameter(torch.randn(3, 6).chunk(size, 1)[rank].clone())

    def forward(self, x):
        hidden = (x @ self.up.t()).tanh()
        return RowLinear.apply(hidden, self.down, self.group, self.gathers_gradient)


def train(mesh, gathers_gradient):
    torch.manual_seed(0)
    mlp = Mlp(mesh, gathers_gradient)
    mlp(X).square().sum().backward()
    torch.optim.SGD(mlp.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, gathers_gradient=False)


def right(mesh):
    train(mesh, gathers_gradient=True)


EXHIBIT = Exhibit(
    title="A quarter of the gradient is right",
    source="huggingface/nanotron PR 172 (#46)",
    date="2024-05-16",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Mlp.up",
)
