"""A router keeps a count of tokens over the micro-batches of a step, for the bias that balances
experts. A line in Megatron had ``=`` where it needed ``+=``. So the count is that of the last
micro-batch, and the others never were. The bias still moves in about the right direction: tokens
of one text are much like those of the next. It was found in 2026, in a review that tried two to
four ranks on CPUs. It shows in the counts, when a step has more micro-batches than one.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))
        self.register_buffer("load", torch.zeros(4))

    def forward(self, tokens):
        return torch.bincount((tokens @ self.weight.t()).argmax(-1), minlength=4).float()


def last(load, counts):
    return counts


def summed(load, counts):
    return load + counts


def train(mesh, update):
    torch.manual_seed(0)
    gate = Gate()
    for tokens in torch.randn(8, 3).chunk(1 if mesh.size() == 1 else 2):
        gate.load = update(gate.load, gate(tokens))


def wrong(mesh):
    train(mesh, last)


def right(mesh):
    train(mesh, summed)


EXHIBIT = Exhibit(
    title="One character too few",
    source="NVIDIA/Megatron-LM #7452",
    date="2026-09-17",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer Gate.load",
)
