"""A context that changes all log-softmaxes.

A context for losses over a cut vocabulary replaces the backward pass of log-softmax by one that
hands the gradient on, since its own backward pass of the loss does the rest. It does so for each
log-softmax inside, also for those that feed an entropy or a distillation loss. Their forward passes
are right and their gradients are not: the term with the softmax is missing. The handler asks nobody
who reads the result. The first use in one training is right, and the second is silently wrong.
"""

from contextlib import nullcontext

import torch
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import loss_parallel

from simmesh.museum import Exhibit, SameAsOneDevice

LOGITS = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))


def train(mesh, context):
    logits = distribute_tensor(LOGITS, mesh, [Shard(1)]).requires_grad_()
    with context() if mesh.size() > 1 else nullcontext():
        logs = torch.log_softmax(logits, -1)
        entropy = -(logs.exp() * logs).sum()
        entropy.backward()
    return logits.grad


def wrong(mesh):
    return train(mesh, loss_parallel)


def right(mesh):
    return train(mesh, nullcontext)


EXHIBIT = Exhibit(
    title="A log-softmax for another use",
    source="pytorch/pytorch #190746",
    date="2026-07-22",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="log_softmax",
)
