"""Hybrid sharding has nodes, and ranks inside of each. At the beginning rank 0 sends its buffers to
all. FSDP sent inside of each node first, from the node's first rank, and then between the nodes. On
the second node the first rank had nothing yet, so it sent nothing of value. A mark then said that
buffers are sent, so they weren't sent again. The ranks of all other nodes began with what the
memory had. Parameters were fine, since they have no such mark. It shows in the buffers of a batch
norm.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Replicas

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        mean = torch.full((3,), 0.5) if dist.get_rank() == 0 else torch.zeros(3)
        self.register_buffer("running_mean", mean)
        self.weight, self.is_synced = nn.Parameter(torch.ones(3)), False

    def forward(self, x):
        return (x - self.running_mean) * self.weight


def send(norm, mesh, inside_first):
    inside, between = mesh["shard"].get_group(), mesh["replicate"].get_group()
    if inside_first:
        broadcast(norm, inside)
        broadcast(norm, between)
    else:
        broadcast(norm, between)
        norm.is_synced = False
        broadcast(norm, inside)


def broadcast(norm, group):
    if not norm.is_synced:
        source = dist.get_process_group_ranks(group)[0]
        dist.broadcast(norm.running_mean, src=source, group=group)
    norm.is_synced = True


def train(mesh, inside_first):
    norm = Norm()
    send(norm, mesh, inside_first)
    optimizer = torch.optim.SGD(norm.parameters(), lr=0.1)
    norm(X[dist.get_rank()]).square().sum().backward()
    dist.all_reduce(norm.weight.grad)
    optimizer.step()


def wrong(mesh):
    train(mesh, inside_first=True)


def right(mesh):
    train(mesh, inside_first=False)


EXHIBIT = Exhibit(
    title="Sent inside of the nodes, and then between them",
    source="pytorch/pytorch PR 178569",
    date="2026-03-27",
    check=Replicas(layout={"replicate": 2, "shard": 2}),
    wrong=wrong,
    right=right,
    at_fault="buffer Norm.running_mean",
)
