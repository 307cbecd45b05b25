"""An embedding that is also the output layer lives on the first and on the last stage of a
pipeline. It is one weight with two copies, so the gradients of both uses must be added up. In
piper each stage stepped by its own. The copies part in the first step: the model reads words by
one table and says them by another. It has more freedom than it should, which looks like a good
loss. It shows in the gradient of the tied weight: a part of a sum.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Ends(nn.Module):
    """Embeds on the first stage, predicts on the last."""

    def __init__(self, mesh):
        super().__init__()
        self.table = nn.Parameter(torch.randn(5, 3))
        self.mesh = mesh

    def embed(self, words):
        return torch.tanh(self.table[words])

    def loss(self, hidden, words):
        return nn.functional.cross_entropy(hidden @ self.table.t(), words)


def backward(ends, words):
    rank, last, group = ends.mesh.get_local_rank(), ends.mesh.size() - 1, ends.mesh.get_group()
    if last == 0:
        ends.loss(ends.embed(words), words + 1).backward()
    elif rank == 0:
        hidden = ends.embed(words)
        dist.send(hidden.detach(), group=group, group_dst=last)
        gradient = torch.empty_like(hidden)
        dist.recv(gradient, group=group, group_src=last)
        hidden.backward(gradient)
    else:
        hidden = torch.empty(len(words), 3)
        dist.recv(hidden, group=group, group_src=0)
        ends.loss(hidden.requires_grad_(), words + 1).backward()
        dist.send(hidden.grad, group=group, group_dst=0)


def train(mesh, adds_up):
    torch.manual_seed(0)
    ends = Ends(mesh)
    backward(ends, torch.tensor([0, 2, 1, 3]))
    if adds_up:
        dist.all_reduce(ends.table.grad, group=mesh.get_group())
    torch.optim.SGD(ends.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, adds_up=False)


def right(mesh):
    train(mesh, adds_up=True)


EXHIBIT = Exhibit(
    title="One table that became two",
    source="uw-syfi/piper #13",
    date="2026-07-17",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of parameter 0",
)
