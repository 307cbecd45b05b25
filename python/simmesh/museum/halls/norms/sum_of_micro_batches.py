"""A training takes a batch in parts that fit into memory, and adds up the gradients of the parts.
Each part's loss is a mean. The sum of four means is four times the mean, so the loss has to be
divided by the number of parts. nanoGPT didn't do so at first. On more GPUs each of them has fewer
parts, and DDP takes the mean over GPUs. So the gradient depended on how the batch was cut: eight
parts on one GPU had eight times the gradient of one part on each of eight. AdamW forgives a factor,
and clipping hides it; weight decay and a fixed clipping norm don't. It shows in the first gradient.
"""

import contextlib

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, divides):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    parts = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))].split(2)
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        with contextlib.nullcontext() if is_last else model.no_sync():
            loss = model(part).square().mean()
            (loss / len(parts) if divides else loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def wrong(mesh):
    train(mesh, divides=False)


def right(mesh):
    train(mesh, divides=True)


EXHIBIT = Exhibit(
    title="The sum of the micro-batches' means",
    source="karpathy/nanoGPT #206 (#168)",
    date="2023-03-15",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
