"""A learning rate schedule counts optimizer steps. Accelerate's wrapper of a scheduler assumes that
its length was counted before the data were split over processes, so it steps once for each process.
A training that counted its steps per process, or that gives a function of the step, gets a schedule
that runs ahead: on four GPUs the rate reaches its end after a quarter of the training. A user
reports two curves of the rate, of one GPU and of two. There are many such reports, and the answer
is that it works as documented. Nothing fails, and the loss of a training with a small rate looks
calm. It shows in the first parameter after the second step.
"""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class SteppedForEachProcess:
    def __init__(self, scheduler, num_processes):
        self.scheduler, self.num_processes = scheduler, num_processes

    def step(self):
        for _ in range(self.num_processes):
            self.scheduler.step()


def train(mesh, wrap):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = wrap(LambdaLR(optimizer, lambda step: 1 - step / 10))
    for step in range(3):
        batch = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))] + step
        model(batch).square().mean().backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


def wrong(mesh):
    train(mesh, lambda scheduler: SteppedForEachProcess(scheduler, mesh.size()))


def right(mesh):
    train(mesh, lambda scheduler: scheduler)


EXHIBIT = Exhibit(
    title="A schedule that steps once for each process",
    source="huggingface/accelerate #2142",
    date="2023-11-10",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
