"""A logger shows the mean of all ranks' losses, so it adds them up. all_reduce writes into the
tensor that it gets. Lightning's logger got the loss itself. A training step that logs its loss and
returns it returned the sum over ranks: 2.0 on two GPUs where each had 1.0. Where the loss is used
afterwards, as in a rule that stops the training, the rule sees another number. The cure copies it
before it is added up. It shows in the loss that the step returns.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Logger:
    def __init__(self, mesh, copies):
        self.mesh, self.copies, self.values = mesh, copies, {}

    def log(self, name, value):
        value = value.detach().clone() if self.copies else value.detach()
        dist.all_reduce(value, group=self.mesh.get_group())
        self.values[name] = value / self.mesh.size()


def training_step(mesh, copies):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2), process_group=mesh.get_group())
    optimizer, logger = torch.optim.SGD(model.parameters(), lr=0.1), Logger(mesh, copies)
    loss = model(X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]).square().mean()
    logger.log("loss", loss)
    loss.backward()
    optimizer.step()
    return {"logged": logger.values["loss"], "loss": loss.detach()}


def wrong(mesh):
    return training_step(mesh, copies=False)


def right(mesh):
    return training_step(mesh, copies=True)


EXHIBIT = Exhibit(
    title="Whoever logs the loss changes it",
    source="Lightning-AI/pytorch-lightning #5759",
    date="2021-02-03",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value ['loss']",
)
