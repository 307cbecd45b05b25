"""Label smoothing takes a little from the right word and gives it to all words of the vocabulary.
Under tensor parallelism each rank has the logits of a part of the vocabulary. Megatron's loss
took the number of words, and the mean of their log-probabilities, from that part. So each rank
computed a loss of its own, smoothed over its own words, and the ranks of one model didn't agree
on their loss. Training goes on: the curve bends as curves do. It was reported in 2026, as the
first of eleven findings in one review of the code. It shows in the loss, where the numbers of two
ranks differ.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial

from simmesh.museum import Exhibit, SameAsOneDevice

WORDS = 6


def over_the_shard(log_probabilities, mesh):
    words = log_probabilities.shape[-1]
    return log_probabilities.sum(-1) / words, words


def over_the_vocabulary(log_probabilities, mesh):
    return total(log_probabilities.sum(-1), mesh) / WORDS, WORDS


def total(part, mesh):
    return DTensor.from_local(part, mesh, [Partial()]).full_tensor()


class Loss(nn.Module):
    def __init__(self, mesh, mean_over_words):
        super().__init__()
        self.mesh, self.mean_over_words = mesh, mean_over_words

    def forward(self, logits, target):
        words, mesh = logits.shape[-1], self.mesh
        largest = logits.detach().amax(-1, keepdim=True)
        dist.all_reduce(largest, dist.ReduceOp.MAX, group=mesh.get_group())
        logits = logits - largest
        log_probabilities = logits - total(logits.exp().sum(-1, keepdim=True), mesh).log()
        mine = target - mesh.get_local_rank() * words
        is_mine = (mine >= 0) & (mine < words)
        of_target = log_probabilities.gather(-1, mine.clamp(0, words - 1)[:, None])[:, 0]
        of_target = total(of_target * is_mine, mesh)
        mean, words = self.mean_over_words(log_probabilities, mesh)
        smoothing = 0.1 * words / (words - 1)
        return -((1 - smoothing) * of_target + smoothing * mean).mean()


def train(mesh, mean_over_words):
    torch.manual_seed(0)
    head = torch.randn(WORDS, 4).chunk(mesh.size())[mesh.get_local_rank()].requires_grad_()
    hidden, target = torch.randn(4, 4), torch.tensor([5, 0, 3, 2])
    return Loss(mesh, mean_over_words)(hidden @ head.t(), target).detach()


def wrong(mesh):
    return train(mesh, over_the_shard)


def right(mesh):
    return train(mesh, over_the_vocabulary)


EXHIBIT = Exhibit(
    title="Smoothed over half of the words",
    source="NVIDIA/Megatron-LM #7452",
    date="2026-09-17",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Loss",
)
