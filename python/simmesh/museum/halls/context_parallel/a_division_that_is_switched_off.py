"""DeepSpeed divides gradients by the number of ranks, but for those that share a text under
sequence parallelism, whose gradients are parts of one. A user read the code and found that a later
change has switched the division off. In another place each rank's loss is a mean over its own
tokens. Added up over the ranks of a text, the gradient is as many times too large as the text has
pieces. A learning rate that was tuned without sequence parallelism is wrong then. The user asked if
the loss may be divided instead; the report is open. It shows in the first gradient, as a factor.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 8, 3, generator=torch.Generator().manual_seed(1))


def train(mesh, divides):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    texts = X.chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    piece = texts.chunk(mesh["sp"].size(), 1)[mesh["sp"].get_local_rank()]
    model(piece).square().mean().backward()
    for parameter in model.parameters():
        parameter.grad /= mesh.size() if divides else mesh["dp"].size()
        dist.all_reduce(parameter.grad)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, divides=False)


def right(mesh):
    train(mesh, divides=True)


EXHIBIT = Exhibit(
    title="A division that is switched off",
    source="deepspeedai/DeepSpeed #5248",
    date="2024-03-09",
    check=SameAsOneDevice(layouts=[{"dp": 2, "sp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
