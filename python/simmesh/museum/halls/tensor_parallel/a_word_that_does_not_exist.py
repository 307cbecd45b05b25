"""A vocabulary of 50,257 words can't be cut into two equal parts, so Megatron adds a word and
cuts 50,258. Nobody ever says the added word. But it has a logit, and the softmax divides by the
sum over all of them. A report of 2025 trains one model on one GPU and on two, with such a
vocabulary. After 2,000 steps the losses are more than 50 % apart. The report doesn't say why;
this program shows how one added word is enough. It shows in the first loss: the sum over words
has one term too many.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor, Partial

from simmesh.museum import Exhibit, SameAsOneDevice

WORDS = 5


class Loss(nn.Module):
    def __init__(self, mesh, is_masked):
        super().__init__()
        self.mesh, self.is_masked = mesh, is_masked

    def forward(self, logits, target):
        words = torch.arange(logits.shape[-1]) + self.mesh.get_local_rank() * logits.shape[-1]
        terms = logits.exp()
        if self.is_masked:
            terms = terms * (words < WORDS)
        at_target = (logits * (target[:, None] == words)).sum(-1)
        total = DTensor.from_local(terms.sum(-1), self.mesh, [Partial()]).full_tensor()
        at_target = DTensor.from_local(at_target, self.mesh, [Partial()]).full_tensor()
        return (total.log() - at_target).mean()


def train(mesh, is_masked):
    torch.manual_seed(0)
    head = torch.randn(WORDS, 3)
    head = F.pad(head, (0, 0, 0, -WORDS % mesh.size()))
    mine = nn.Parameter(head.chunk(mesh.size())[mesh.get_local_rank()].clone())
    hidden, target = torch.randn(4, 3), torch.tensor([4, 0, 2, 1])
    return Loss(mesh, is_masked)(hidden @ mine.t(), target).detach()


def wrong(mesh):
    return train(mesh, is_masked=False)


def right(mesh):
    return train(mesh, is_masked=True)


EXHIBIT = Exhibit(
    title="A word that doesn't exist",
    source="NVIDIA/Megatron-LM #1754",
    date="2025-08-19",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Loss",
)
