"""Training divides its loss by the number of accumulation steps, so that gradients add up to a
mean. Validation has no accumulation. torchtitan's pipeline used one loss function for both. So
with 8 accumulation steps the log showed an eighth of the validation loss. A model seemed to be
good, and better with each change that made steps larger. Nothing in the training was wrong, only
what people decide by. It shows in the number itself, beside that of one device.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


def loss(y, accumulation_steps):
    return y.square().mean() / accumulation_steps


def train_and_validate(mesh, steps_of_validation):
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    steps = 1 if mesh.size() == 1 else 2
    for rows in torch.randn(4, 3).chunk(steps):
        loss(model(rows), steps).backward()
    with torch.no_grad():
        validation = loss(model(torch.ones(2, 3)), steps_of_validation(steps))
    return {"validation loss": validation}


def wrong(mesh):
    return train_and_validate(mesh, lambda steps: steps)


def right(mesh):
    return train_and_validate(mesh, lambda steps: 1)


EXHIBIT = Exhibit(
    title="An eighth of the loss",
    source="pytorch/torchtitan PR 1758",
    date="2025-09-26",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
