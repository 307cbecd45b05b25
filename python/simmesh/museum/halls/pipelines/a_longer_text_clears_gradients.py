"""Stages of a pipeline agree on the shapes that they send, so they are set up for a sequence
length. If a batch of another length comes, Automodel set the stages up again. Setting up cleared
the gradients, as one does at the beginning of a training. In the midst of an accumulation step it
threw away what the micro-batches before had given. Where lengths vary from batch to batch, only
the last micro-batch of a step trained the model. It shows in the gradients, as soon as two micro-
batches have different lengths.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Stage(nn.Module):
    def __init__(self, clears):
        super().__init__()
        self.clears, self.length = clears, None
        self.layer = nn.Linear(3, 3)

    def set_up(self, length):
        self.length = length
        if self.clears:
            self.zero_grad()

    def forward(self, x):
        if len(x) != self.length:
            self.set_up(len(x))
        return torch.tanh(self.layer(x))


def train(mesh, clears):
    torch.manual_seed(0)
    stage = Stage(clears and mesh.size() > 1)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    for text in (torch.randn(4, 3), torch.randn(6, 3)):
        stage(text).square().sum().backward()
    optimizer.step()


def wrong(mesh):
    train(mesh, clears=True)


def right(mesh):
    train(mesh, clears=False)


EXHIBIT = Exhibit(
    title="A longer text clears the slate",
    source="NVIDIA-NeMo/Automodel PR 3530",
    date="2026-08-20",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of layer.weight",
)
