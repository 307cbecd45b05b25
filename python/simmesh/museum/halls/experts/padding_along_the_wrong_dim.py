"""A routing map says for each token which experts get it. Padding tokens must not count for the
balance. So a mask with one entry for each token is laid over the map. Megatron laid it along the
wrong dim: it masked experts instead of tokens. With as many tokens as experts, or after a
reshape, the shapes agree and nothing complains. Here each rank has as many tokens as there are
experts, as ranks of a long sequence may have. On one device the shapes don't allow the mistake.
It shows in the counts of the experts.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

EXPERTS = 4


def mask_experts(routing, is_token):
    if len(is_token) == EXPERTS:
        return routing * is_token[None, :]
    return routing * is_token[:, None]


def mask_tokens(routing, is_token):
    return routing * is_token[:, None]


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(EXPERTS, 3))
        self.register_buffer("load", torch.zeros(EXPERTS))

    def forward(self, tokens):
        return torch.nn.functional.one_hot((tokens @ self.weight.t()).argmax(-1), EXPERTS)


def train(mesh, mask):
    torch.manual_seed(0)
    gate = Gate()
    tokens, is_token = torch.randn(8, 3), torch.tensor([1, 1, 1, 0, 1, 1, 0, 0])
    rank, ranks = mesh.get_local_rank(), mesh.size()
    routing = gate(tokens.chunk(ranks)[rank])
    counts = mask(routing, is_token.chunk(ranks)[rank]).sum(0).float()
    dist.all_reduce(counts, group=mesh.get_group())
    gate.load += counts


def wrong(mesh):
    train(mesh, mask_experts)


def right(mesh):
    train(mesh, mask_tokens)


EXHIBIT = Exhibit(
    title="Masked experts",
    source="NVIDIA/Megatron-LM PR 6114",
    date="2026-08-20",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="buffer Gate.load",
)
