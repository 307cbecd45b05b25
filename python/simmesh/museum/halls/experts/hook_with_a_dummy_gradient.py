"""A fused kernel adds a weight's gradient to a buffer, ``main_grad``, as it makes it. Autograd gets
a tensor of the right shape with nothing in it, so that hooks still run. A hook on the parameter
should add up the gradients of an adapter that experts share. It added up what it was given, which
was the empty tensor, and the optimizer read the buffer. So the copies of the adapter learned apart.
The first update even looked right, since one of the two matrices begins at zero and the other's
gradient is zero then. It was the second update that split each matrix into eight, on a cluster.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class FusedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        weight.main_grad += gradient.t() @ x
        return gradient @ weight, torch.zeros_like(weight)


class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.lora_a = nn.Parameter(torch.randn(2, 4))
        self.lora_b = nn.Parameter(torch.zeros(4, 2))

    def forward(self, x):
        return FusedLinear.apply(FusedLinear.apply(x, self.lora_a), self.lora_b)


def train(mesh, reduces_main_grad):
    torch.manual_seed(0)
    adapter = Adapter()
    group = mesh.get_group()
    if not reduces_main_grad:
        for parameter in adapter.parameters():
            parameter.register_hook(lambda grad: dist.all_reduce(grad, group=group))
    optimizer = torch.optim.SGD(adapter.parameters(), lr=0.1)
    mine = X.chunk(mesh.size())[mesh.get_local_rank()]
    for _ in range(2):
        for parameter in adapter.parameters():
            parameter.main_grad = torch.zeros_like(parameter)
        (adapter(mine) - 1).square().sum().backward()
        for parameter in adapter.parameters():
            if reduces_main_grad:
                dist.all_reduce(parameter.main_grad, group=group)
            parameter.grad = parameter.main_grad
        optimizer.step()


def wrong(mesh):
    train(mesh, reduces_main_grad=False)


def right(mesh):
    train(mesh, reduces_main_grad=True)


EXHIBIT = Exhibit(
    title="The hook reduces an empty gradient",
    source="radixark/miles PR 2723",
    date="2026-08-23",
    check=SameAsOneDevice(layouts=[{"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Adapter.lora_b",
)
