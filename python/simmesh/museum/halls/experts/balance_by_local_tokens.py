"""An auxiliary loss keeps the experts of a model equally busy. It is a sum over tokens, divided
by their number. Megatron multiplied it by the tokens that a rank has, and divided it by those of
all ranks. Under tensor and context parallelism a rank has a part of each sequence, so the loss
had 1 / (TP x CP) of its weight. The more ranks a model was trained on, the less its experts were
balanced, with the same settings. It shows in the gradient of the router.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS, WEIGHT = 8, 0.5


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 4, bias=False)

    def forward(self, tokens, mesh, scale):
        scores = self.gate(tokens).softmax(-1)
        counts = torch.bincount(scores.argmax(-1), minlength=4).float()
        dist.all_reduce(counts, group=mesh.get_group())
        return WEIGHT * (counts * scores.sum(0)).sum() / TOKENS * scale(len(tokens))


def train(mesh, scale):
    torch.manual_seed(0)
    router = Router()
    tokens = torch.randn(TOKENS, 3).chunk(mesh.size())[mesh.get_local_rank()]
    router(tokens, mesh, scale).backward()
    dist.all_reduce(router.gate.weight.grad, group=mesh.get_group())


def wrong(mesh):
    train(mesh, lambda tokens: tokens / TOKENS)


def right(mesh):
    train(mesh, lambda tokens: 1)


EXHIBIT = Exhibit(
    title="More ranks, less balance",
    source="NVIDIA/Megatron-LM PR 5047",
    date="2026-06-02",
    check=SameAsOneDevice(layouts=[{"cp": 2}, {"cp": 4}]),
    wrong=wrong,
    right=right,
    at_fault="output of Router",
)
