"""Each rank has its own patience.

A schedule lowers the learning rate when the validation loss stops falling. Each rank stepped it
with the loss of its own part of the validation rows; the mean over ranks was made for the log
alone. Parts differ, so one rank lowers its rate an epoch before another. The gradients are the same
on all ranks, the steps are not, and the weights drift apart from then on. The log shows the mean,
by which the schedule seems not to work.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau

from simmesh import rows_of
from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
VALIDATION = torch.tensor([[3.0, 4.0, 1.0], [3.0, 2.0, 2.5]])


def train(mesh, reduce):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plateau = ReduceLROnPlateau(optimizer, patience=0)
    for epoch in range(3):
        optimizer.zero_grad()
        model(X[rows_of(mesh.get_local_rank(), mesh.size(), 8)]).square().mean().backward()
        optimizer.step()
        plateau.step(reduce(VALIDATION[mesh.get_local_rank()][epoch].clone(), mesh))


def mean(loss, mesh):
    dist.all_reduce(loss, group=mesh.get_group())
    return loss / mesh.size()


def wrong(mesh):
    train(mesh, lambda loss, mesh: loss)


def right(mesh):
    train(mesh, mean)


EXHIBIT = Exhibit(
    title="A plateau for each rank",
    source="rmchurch/disruptcnn #3",
    date="2020-03-24",
    check=Replicas(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
