"""A model balances its experts by a bias: after each step it rises for experts that had few
tokens. Each data-parallel rank has other tokens, so all must move their biases by the counts of
all. In Automodel each rank used its own counts. The bias is no parameter and has no gradient, so
nothing that reduces gradients ever touched it. One model became as many as there are ranks, and
the checkpoint has the bias of rank 0. It shows in the bias after the first step.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))
        self.register_buffer("bias", torch.zeros(4))

    def forward(self, tokens):
        return (tokens @ self.weight.t() + self.bias).argmax(-1)


def train(mesh, reduces):
    torch.manual_seed(1)
    gate = Gate()
    chosen = gate(torch.randn(8, 3).chunk(mesh.size())[mesh.get_local_rank()])
    counts = torch.bincount(chosen, minlength=4).float()
    if reduces:
        dist.all_reduce(counts, group=mesh.get_group())
    gate.bias += 0.01 * torch.sign(counts.mean() - counts)


def wrong(mesh):
    train(mesh, reduces=False)


def right(mesh):
    train(mesh, reduces=True)


EXHIBIT = Exhibit(
    title="A bias for each rank",
    source="NVIDIA-NeMo/Automodel PR 3348",
    date="2026-08-04",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer Gate.bias",
)
