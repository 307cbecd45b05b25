"""Zero-bubble pipelines split the backward pass: first the gradients of inputs, which other ranks
wait for, and later those of weights, which fill the gaps. PyTorch keeps the gradients at the
places where a weight is used, and later walks from each place back to the weight. If a weight is
used twice, and one use feeds the other, the walk from the second use passes through the first one
too. So the first use counts twice. A report has it in three lines: x @ w @ w. Models with shared
layers are hit, all others are not. It shows in the gradient of the shared weight.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Stage(nn.Module):
    """Uses one layer twice, and notes what enters and leaves it."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(3, 3, bias=False)

    def forward(self, x):
        self.entered, self.left = [], []
        for _ in range(2):
            self.entered.append(x)
            x = self.shared(x)
            self.left.append(x)
        return x


def walked(stage, use, gradient):
    weight = stage.shared.weight
    return torch.autograd.grad(stage.left[use], weight, gradient, retain_graph=True)[0]


def of_this_use(stage, use, gradient):
    return gradient.t() @ stage.entered[use].detach()


def train(mesh, gradient_of_weight):
    torch.manual_seed(0)
    stage = Stage()
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    loss = stage(torch.randn(4, 3)).sum()
    if mesh.size() == 1:
        loss.backward()
    else:
        gradients = torch.autograd.grad(loss, stage.left, retain_graph=True)
        found = [gradient_of_weight(stage, use, each) for use, each in enumerate(gradients)]
        stage.shared.weight.grad = found[0] + found[1]
    optimizer.step()


def wrong(mesh):
    train(mesh, walked)


def right(mesh):
    train(mesh, of_this_use)


EXHIBIT = Exhibit(
    title="Two ways to one weight",
    source="pytorch/pytorch #180952, PR 181365",
    date="2026-04-24",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of shared.weight",
)
