"""A hook runs before each optimizer step and moves the balancing bias of every expert layer.
torchtitan's hook looked at the layers one after the other. At a layer that doesn't balance its
experts it said ``return`` where it meant ``continue``. So all layers behind the first such layer
kept the bias that they were born with. Models whose layers all balance were fine, and those were
the ones that tests had. It shows in the buffer of a later layer: this step changed it on one
device, and on no rank.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Layer(nn.Module):
    def __init__(self, balances):
        super().__init__()
        self.balances = balances
        self.gate = nn.Linear(3, 4, bias=False)
        self.register_buffer("bias", torch.zeros(4))

    def forward(self, tokens):
        chosen = (self.gate(tokens) + self.bias).argmax(-1)
        self.counts = torch.bincount(chosen, minlength=4).float()
        return tokens * (chosen[:, None] + 1)


def hook_that_returns(layers):
    for layer in layers:
        if not layer.balances:
            return
        layer.bias += torch.sign(layer.counts.mean() - layer.counts)


def hook(layers):
    for layer in layers:
        if layer.balances:
            layer.bias += torch.sign(layer.counts.mean() - layer.counts)


def train(mesh, hook_of_ranks):
    torch.manual_seed(0)
    model = nn.Sequential(Layer(balances=False), Layer(balances=True))
    model(torch.randn(8, 3))
    (hook if mesh.size() == 1 else hook_of_ranks)(model)


def wrong(mesh):
    train(mesh, hook_that_returns)


def right(mesh):
    train(mesh, hook)


EXHIBIT = Exhibit(
    title="Return where continue was meant",
    source="pytorch/torchtitan PR 3686",
    date="2026-06-17",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer 1.bias",
)
