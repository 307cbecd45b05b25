"""Packed micro-batches are flattened: the sequences of a batch lie one after the other in one
long row. A balance loss that looks at each sequence by itself needs to know where they end.
Megatron's didn't. It took the whole row as one sequence, whose experts are balanced if those of
any two sequences together are. So the loss was smaller than it should be, the more so the more
sequences were packed. It shows on ranks that pack, beside a device that doesn't.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

SEQUENCES, LENGTH = 4, 3


def as_one(scores):
    return scores[None]


def each_by_itself(scores):
    return scores.unflatten(0, (-1, LENGTH))


class Balance(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 4, bias=False)

    def forward(self, tokens, sequences_of):
        scores = sequences_of(self.gate(tokens).softmax(-1))
        counts = nn.functional.one_hot(scores.argmax(-1), 4).float().mean(1)
        losses = (counts * scores.mean(1)).sum(-1)
        return losses.mean()


def train(mesh, sequences_of):
    torch.manual_seed(1)
    balance = Balance()
    rows = torch.randn(SEQUENCES, LENGTH, 3).chunk(mesh.size())[mesh.get_local_rank()]
    packed = [rows.flatten(0, 1)] if mesh.size() > 1 else list(rows)
    for tokens in packed:
        (balance(tokens, sequences_of) / len(packed) / mesh.size()).backward()
    dist.all_reduce(balance.gate.weight.grad, group=mesh.get_group())
    torch.optim.SGD(balance.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, as_one)


def right(mesh):
    train(mesh, each_by_itself)


EXHIBIT = Exhibit(
    title="Balanced, all taken together",
    source="NVIDIA/Megatron-LM PR 5696",
    date="2026-07-09",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of gate.weight",
)
