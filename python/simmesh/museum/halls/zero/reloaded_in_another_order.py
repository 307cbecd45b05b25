"""Back from the host, one place further.

States can be moved to the host between phases, as when a model generates text, and come back later.
The buffer for the weights is laid out in the order of the optimizer's groups. The way back went
over the parameters in the order of the model. With one group both orders are the same. With two, as
for weight decay, each parameter got the slice of another one of the same size. Unit tests had one
group.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, order_of):
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4, bias=False) for _ in range(4)))
    parameters = list(model.parameters())
    grouped = parameters[::2] + parameters[1::2]
    if mesh.size() > 1:
        buffer = torch.cat([each.detach().flatten() for each in grouped])
        for place, parameter in enumerate(order_of(parameters, grouped)):
            parameter.data = buffer[place * 16 : place * 16 + 16].view(4, 4)
    model(X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]).square().sum().backward()
    for parameter in parameters:
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(parameters, lr=0.1).step()


def wrong(mesh):
    train(mesh, lambda parameters, grouped: parameters)


def right(mesh):
    train(mesh, lambda parameters, grouped: grouped)


EXHIBIT = Exhibit(
    title="Back from the host in another order",
    source="deepspeedai/DeepSpeed PR 7050",
    date="2025-02-18",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="initial parameter 1.weight",
)
