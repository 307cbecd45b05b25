"""A skipped step that leaves holes.

After an overflow a sharded optimizer skips its step and puts the weights back that it had moved out
of the way. It asked whether a parameter is sharded, and put back only those that are. Small ones,
such as biases, stay whole on each rank and were left as they were. The next forward pass ran with
what lay there. An overflow is an ordinary event of a training in half precision, so the step that
breaks the model has a message that everyone has learnt to ignore.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, torch.inf], [7.0, 8.0]])


def train(mesh, puts_back):
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    kept = [parameter.detach().clone() for parameter in model.parameters()]
    rows = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    for step in range(2):
        model.zero_grad()
        batch = rows if step == 0 else rows.nan_to_num(posinf=1.0)
        model(batch).square().sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        overflows = any(not parameter.grad.isfinite().all() for parameter in model.parameters())
        for before, parameter in zip(kept, model.parameters()):
            if overflows and puts_back(parameter):
                parameter.data.copy_(before)
            elif overflows:
                parameter.data.zero_()
            else:
                parameter.data -= 1e-3 * parameter.grad


def wrong(mesh):
    train(mesh, lambda parameter: parameter.dim() > 1 or mesh.size() == 1)


def right(mesh):
    train(mesh, lambda parameter: True)


EXHIBIT = Exhibit(
    title="Not put back after an overflow",
    source="hpcaitech/ColossalAI #663",
    date="2022-04-03",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
