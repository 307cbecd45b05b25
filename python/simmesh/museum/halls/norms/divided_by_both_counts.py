"""Two layers of a trainer divide the loss: the model's function by the number of tokens in all
micro-batches, or the trainer by the number of micro-batches. Exactly one of them must. Unsloth
counted tokens whenever the model's forward function takes the count. The trainer asked another
flag, which said that the model doesn't, and divided by the number of micro-batches as well. So loss
and gradients were too small by the steps of accumulation. The number of micro-batches is what
changes with the number of ranks, so a run on more GPUs learned faster. It shows in the first
gradient, as a factor.
"""

import contextlib

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Trainer:
    model_accepts_loss_kwargs = False

    def __init__(self, model, counts_by_flag):
        self.model, self.counts_by_flag = model, counts_by_flag

    def num_items(self, parts):
        if self.counts_by_flag and not self.model_accepts_loss_kwargs:
            return None
        return sum(len(part) for part in parts)

    def training_step(self, parts):
        num_items = self.num_items(parts)
        for index, part in enumerate(parts):
            with contextlib.nullcontext() if index == len(parts) - 1 else self.model.no_sync():
                loss = self.model(part).square().sum()
                loss = loss / (len(part) if num_items is None else num_items)
                if not self.model_accepts_loss_kwargs:
                    loss = loss / len(parts)
                loss.backward()


def train(mesh, counts_by_flag):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    parts = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))].split(2)
    Trainer(model, counts_by_flag).training_step(parts)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, counts_by_flag=False)


def right(mesh):
    train(mesh, counts_by_flag=True)


EXHIBIT = Exhibit(
    title="Divided by the tokens, and by the parts",
    source="unslothai/unsloth-zoo PR 1023",
    date="2026-08-09",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
