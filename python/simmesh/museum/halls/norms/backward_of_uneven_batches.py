"""PyTorch mended its batch norm over several GPUs for batches of several sizes, in the forward
pass. The backward pass needs means as well: that of the gradient, and that of the gradient times
the centred input. They stayed means of the GPUs' means. So outputs and running statistics were
right, and gradients weren't, if batches differ in size. It went out with one release and was mended
in the next. A test that compares outputs passes. It shows in the gradient of the layer before.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))


class Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, weighs):
        def mean(value):
            total = value.sum(0)
            dist.all_reduce(total, group=group)
            return total / len(X)

        centered = x - mean(x)
        scale = (mean(centered.square()) + 1e-5).rsqrt()
        ctx.group, ctx.weighs = group, weighs
        ctx.save_for_backward(centered * scale, scale)
        return centered * scale

    @staticmethod
    def backward(ctx, gradient):
        normal, scale = ctx.saved_tensors
        sums = torch.stack([gradient.sum(0), (gradient * normal).sum(0)])
        if not ctx.weighs:
            sums = sums / len(gradient) * (len(X) / dist.get_world_size(ctx.group))
        dist.all_reduce(sums, group=ctx.group)
        mean, mean_with_normal = sums / len(X)
        return (gradient - mean - normal * mean_with_normal) * scale, None, None


class SyncNorm(nn.Module):
    def __init__(self, mesh, weighs):
        super().__init__()
        self.group, self.weighs = mesh.get_group(), weighs

    def forward(self, x):
        return Normalize.apply(x, self.group, self.weighs)


def train(mesh, weighs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), SyncNorm(mesh, weighs), nn.Tanh())
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    (model(mine).square()[:, 0].sum() / len(X)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, weighs=False)


def right(mesh):
    train(mesh, weighs=True)


EXHIBIT = Exhibit(
    title="The way back has means of means",
    source="pytorch/pytorch PR 36382, PR 36688",
    date="2020-04-15",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of 0",
)
