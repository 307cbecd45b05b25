"""A loss for a cut vocabulary adds up each rank's terms of the softmax. Megatron's output layer can
be told to gather the words first, so that every rank has all of them. The loss didn't ask. It took
all words of each rank for a piece, and added the same terms up once a rank. The softmax divides by
twice as much on two ranks, and the loss is larger by the logarithm of their number: by 0.69, or by
2.08 on eight. Gradients are wrong as well, since every word looks half as likely. It shows in the
loss, at the line that adds up.
"""

import torch
from torch import nn
from torch.distributed.nn.functional import all_reduce
from torch.distributed.tensor import DTensor, Shard

import simmesh
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
WORDS = torch.tensor([0, 5, 2, 3, 1])


def vocab_parallel_cross_entropy(logits, target, mesh):
    begin = mesh.get_local_rank() * logits.shape[1]
    terms = all_reduce(logits.exp().sum(1), group=mesh.get_group())
    is_mine = (target >= begin) & (target < begin + logits.shape[1])
    mine = (target - begin).clamp(0, logits.shape[1] - 1)
    at_target = logits.gather(1, mine[:, None]).squeeze(1) * is_mine
    return terms.log() - all_reduce(at_target, group=mesh.get_group())


class Model(nn.Module):
    def __init__(self, mesh, gather_output):
        super().__init__()
        self.mesh, self.gather_output = mesh, gather_output
        weight = torch.randn(6, 3).chunk(mesh.size())[mesh.get_local_rank()]
        self.weight = nn.Parameter(weight.clone())

    def forward(self, x, labels):
        logits = x @ self.weight.t()
        if self.gather_output:
            whole = DTensor.from_local(logits.detach(), self.mesh, [Shard(1)]).full_tensor()
            logits = whole
        return vocab_parallel_cross_entropy(logits, labels, self.mesh)


def losses(mesh, gather_output):
    torch.manual_seed(0)
    return simmesh.note("losses", Model(mesh, gather_output)(X, WORDS).detach())


def wrong(mesh):
    losses(mesh, gather_output=True)


def right(mesh):
    losses(mesh, gather_output=False)


EXHIBIT = Exhibit(
    title="Every word, once a rank",
    source="NVIDIA/Megatron-LM #7452, finding 2",
    date="2026-09-17",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Model",
)
