"""Thirty-two bits were saved, and sixteen loaded.

An optimizer kept a full copy of each weight among its states, and the checkpoint had it in full.
Loading the state of an optimizer converts each floating state to the dtype of its parameter, which
is right for moments in full precision and wrong here: the copy came back as bfloat16. From then on
the copy had no more bits than the weight, and small steps rounded to nothing. No message says that
a state was converted.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Optimizer(torch.optim.Optimizer):
    """SGD with a full copy of each weight among its states."""

    def __init__(self, parameters):
        super().__init__(parameters, {})
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["master"] = parameter.detach().float().clone()

    def step(self):
        for parameter in self.param_groups[0]["params"]:
            master = self.state[parameter]["master"]
            master -= 1e-3 * parameter.grad
            parameter.data.copy_(master)


def train(mesh, folder, steps, load):
    torch.manual_seed(0)
    model = nn.Linear(4, 2).bfloat16()
    optimizer = Optimizer(model.parameters())
    file, first = folder / "state.pt", 0
    if file.exists():
        first, weights, states = torch.load(file)
        model.load_state_dict(weights)
        load(optimizer, states)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), 8)].bfloat16()
    for _ in range(first, steps):
        model.zero_grad()
        (model(mine).float().square().sum() / 8).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        optimizer.step()
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), optimizer.state_dict()), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, lambda optimizer, states: optimizer.load_state_dict(states))


def right(mesh, folder, steps):
    def load(optimizer, states):
        for place, parameter in enumerate(optimizer.param_groups[0]["params"]):
            optimizer.state[parameter]["master"] = states["state"][place]["master"]

    train(mesh, folder, steps, load)


EXHIBIT = Exhibit(
    title="A full copy that is loaded as half",
    source="NVIDIA/Megatron-LM #1359",
    date="2025-01-17",
    check=Resumed(layouts=[{"dp": 1}, {"dp": 1}], steps=(2, 4)),
    wrong=wrong,
    right=right,
    at_fault="master",
)
