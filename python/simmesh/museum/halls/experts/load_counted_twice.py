"""A router counts the tokens of each expert, and after the step a bias moves them to experts with
few. Activation checkpointing runs the forward pass once more in the backward pass, and the router
with it. Automodel's gate counted the same tokens a second time. All counts double, so it seems
not to matter. It does where some layers are recomputed and others aren't, or where the count of a
step is compared with a number. It shows in the counts: 2 times one device's.
"""

import functools

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from simmesh.museum import Exhibit, SameAsOneDevice


class Gate(nn.Module):
    def __init__(self, counts_again):
        super().__init__()
        self.counts_again = counts_again
        self.weight = nn.Parameter(torch.randn(4, 3))
        self.register_buffer("load", torch.zeros(4))

    def forward(self, tokens):
        scores = (tokens @ self.weight.t()).softmax(-1)
        is_recomputed = torch._C._current_graph_task_id() != -1
        if self.counts_again or not is_recomputed:
            self.load += torch.bincount(scores.argmax(-1), minlength=4)
        return scores.square()


def train(mesh, counts_again):
    torch.manual_seed(0)
    gate = Gate(counts_again)
    tokens = torch.randn(6, 3)
    recomputed = functools.partial(checkpoint, gate, use_reentrant=False)
    layer = recomputed if mesh.size() > 1 else gate
    layer(tokens).sum().backward()


def wrong(mesh):
    train(mesh, counts_again=True)


def right(mesh):
    train(mesh, counts_again=False)


EXHIBIT = Exhibit(
    title="Every token counts twice",
    source="NVIDIA-NeMo/Automodel PR 3247",
    date="2026-07-28",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer Gate.load",
)
