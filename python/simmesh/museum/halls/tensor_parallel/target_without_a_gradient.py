"""The loss of a vocabulary that is cut over ranks needs the logit of the right word, which one
rank has. That rank contributes it, the others contribute zero, and the sum tells everyone. ms-
swift added up with a plain all-reduce, which autograd doesn't know. The loss was right to the
last bit. Its gradient wasn't: the right word was a constant. So the model was pushed away from
all words, and never towards the one that it should say. It shows in the gradient of the logits,
while the forward pass is that of one device.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial

from simmesh.museum import Exhibit, SameAsOneDevice

WORDS = 6


def with_autograd(part, mesh):
    return DTensor.from_local(part, mesh, [Partial()]).full_tensor()


def without_autograd(part, mesh):
    if mesh.size() == 1:
        return part
    total = part.detach().clone()
    dist.all_reduce(total, group=mesh.get_group())
    return total


def train(mesh, total):
    torch.manual_seed(0)
    head = nn.Linear(4, WORDS, bias=False)
    words = WORDS // mesh.size()
    first = mesh.get_local_rank() * words
    head.weight = nn.Parameter(head.weight.detach()[first : first + words])
    hidden, target = torch.randn(4, 4), torch.tensor([5, 0, 3, 2])
    logits = head(hidden)
    everyone = with_autograd(logits.exp().sum(-1), mesh).log()
    mine = target - first
    is_mine = (mine >= 0) & (mine < words)
    at_target = logits.gather(-1, mine.clamp(0, words - 1)[:, None])[:, 0] * is_mine
    loss = (everyone - total(at_target, mesh)).sum()
    loss.backward()
    return loss.detach()


def wrong(mesh):
    return train(mesh, without_autograd)


def right(mesh):
    return train(mesh, with_autograd)


EXHIBIT = Exhibit(
    title="The word that nobody learned",
    source="modelscope/ms-swift PR 9947",
    date="2026-08-19",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of Linear",
)
