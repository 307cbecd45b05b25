"""Megatron can save a part of each activation on each tensor-parallel rank, and gather the parts
before it computes the layer again in the backward pass. A layer may have a tensor-parallel group
of its own, as experts do. The parts were cut and gathered over the global group in any case, not
over the one that was given. If the ranks of the global group hold other activations, a rank gets
back a mix of its own and of others'. The forward pass is right; the layer is computed again on
data that never was. It shows in the gradients of the layer, while outputs and loss are one
device's.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Recomputed(torch.autograd.Function):
    """Runs a layer without keeping its input but for a part on each rank of a group."""

    @staticmethod
    def forward(ctx, x, layer, group):
        ctx.layer, ctx.group, ctx.shape = layer, group, x.shape
        ctx.part = x.detach().flatten().chunk(group.size())[group.rank()].clone()
        return layer(x.detach())

    @staticmethod
    def backward(ctx, gradient):
        parts = [torch.empty_like(ctx.part) for _ in range(ctx.group.size())]
        dist.all_gather(parts, ctx.part, group=ctx.group)
        x = torch.cat(parts).view(ctx.shape).requires_grad_()
        with torch.enable_grad():
            ctx.layer(x).backward(gradient)
        return x.grad, None, None


def train(mesh, group_of):
    torch.manual_seed(0)
    model = nn.ModuleDict({"below": nn.Linear(4, 4), "layer": nn.Linear(4, 4)})
    dp = mesh["dp"]
    rows = torch.randn(4, 4).chunk(dp.size())[dp.get_local_rank()]
    y = Recomputed.apply(model["below"](rows), model["layer"], group_of(mesh))
    y.square().sum().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=dp.get_group())


def wrong(mesh):
    train(mesh, lambda mesh: dist.group.WORLD)


def right(mesh):
    train(mesh, lambda mesh: mesh["tp"].get_group())


EXHIBIT = Exhibit(
    title="Recomputed from other ranks' data",
    source="NVIDIA/Megatron-LM PR 7403",
    date="2026-09-17",
    check=SameAsOneDevice(layouts=[{"dp": 2, "tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear#2.weight",
)
