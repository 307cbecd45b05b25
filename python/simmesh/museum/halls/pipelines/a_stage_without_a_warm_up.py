"""A pipeline runs some forward passes, then forward and backward passes in turn, and at the end the
backward passes that are left. With data parallelism the gradients are reduced in the last backward
pass. Picotron turned the reduction off before the turns, and on again in what is left. The last
stage has nothing left: each of its forward passes is followed by its backward pass. So it never
reduced, and its copies trained apart, while all other stages did well. The losses come from that
stage. It shows in the gradients of the last stage's layer.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


class Reduced(nn.Module):
    """Reduces gradients in a backward pass for which require_backward_grad_sync is set."""

    def __init__(self, module, group):
        super().__init__()
        self.module, self.group, self.require_backward_grad_sync = module, group, True

    def forward(self, x):
        return self.module(x)

    def after_backward(self):
        if self.require_backward_grad_sync:
            for parameter in self.module.parameters():
                dist.all_reduce(parameter.grad, group=self.group)


def train(mesh, asks_for_the_last):
    torch.manual_seed(0)
    size = mesh["dp"].size()
    stage = Reduced(nn.Linear(3, 1), mesh["dp"].get_group())
    warm_up = 0  # of the last stage
    parts = X[rows_of(mesh["dp"].get_local_rank(), size, len(X))].split(2)
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        stage.require_backward_grad_sync = is_last and (asks_for_the_last or size == 1)
        (stage(part).square().sum() / len(X)).backward()
        stage.after_backward()
    for index in range(warm_up):
        stage.require_backward_grad_sync = index == warm_up - 1
    torch.optim.SGD(stage.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, asks_for_the_last=False)


def right(mesh):
    train(mesh, asks_for_the_last=True)


EXHIBIT = Exhibit(
    title="The last stage has nothing left to do",
    source="huggingface/picotron PR 5",
    date="2024-11-01",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of module.weight",
)
