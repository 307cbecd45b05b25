"""A balance loss may look at each sequence by itself, and is then the mean over sequences.
Megatron divided by the sequences of a micro-batch, and the training divided by the number of
micro-batches. But the sum over sequences had been divided before, so a factor 1 / micro-batch
size was left over. Who changed the size of micro-batches, to fit another GPU, changed the weight
of the balance loss. Nobody expects that: the size of a micro-batch is a matter of memory. It
shows when ranks take micro-batches of 2 where one device takes 1.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

SEQUENCES = 4


def balance(scores):
    counts = nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).float().mean(1)
    return (counts * scores.mean(1)).sum(-1)


def train(mesh, scale):
    torch.manual_seed(0)
    gate = nn.Linear(3, 4, bias=False)
    mine = torch.randn(SEQUENCES, 5, 3).chunk(mesh.size())[mesh.get_local_rank()]
    size = 1 if mesh.size() == 1 else 2
    for sequences in mine.split(size):
        loss = balance(gate(sequences).softmax(-1)).sum() * scale(size)
        (loss / SEQUENCES).backward()
    dist.all_reduce(gate.weight.grad, group=mesh.get_group())
    torch.optim.SGD(gate.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, lambda micro_batch: 1 / micro_batch)


def right(mesh):
    train(mesh, lambda micro_batch: 1)


EXHIBIT = Exhibit(
    title="The size of a micro-batch matters",
    source="NVIDIA/Megatron-LM PR 5798",
    date="2026-07-17",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
