"""A model with pictures has a tower that reads them, and a body that reads the sequence with
their features. The tower runs on the whole sequence. Then context parallelism cuts its output for
the body. Automodel's cut wrote the pieces into new buffers, and these know nothing of where they
came from. So the tower was behind a wall: its parameters got no gradient, and never trained. A
loss that falls says nothing of a tower that doesn't. Two changes, in July and August 2026,
brought the gradients back. It shows as a gradient that one device has and no rank.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate

from simmesh.museum import Exhibit, SameAsOneDevice


def into_a_buffer(whole, mesh):
    with torch.set_grad_enabled(mesh.size() == 1):
        return whole.chunk(mesh.size())[mesh.get_local_rank()].clone()


def with_gradient(whole, mesh):
    whole = DTensor.from_local(whole, mesh, [Replicate()])
    whole = whole.to_local(grad_placements=[Partial()])
    return whole.chunk(mesh.size())[mesh.get_local_rank()]


def train(mesh, cut):
    torch.manual_seed(0)
    model = nn.ModuleDict({"tower": nn.Linear(3, 3), "body": nn.Linear(3, 3)})
    sequence, weights = torch.randn(4, 3), torch.randn(4, 3)
    mine = cut(model["tower"](sequence), mesh)
    loss = model["body"](mine) * weights.chunk(mesh.size())[mesh.get_local_rank()]
    loss.sum().backward()
    for parameter in model["body"].parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, into_a_buffer)


def right(mesh):
    train(mesh, with_gradient)


EXHIBIT = Exhibit(
    title="The tower behind a wall",
    source="NVIDIA-NeMo/Automodel PR 2931, PR 3414",
    date="2026-08",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear.weight",
)
