"""Each rank has some experts. The tokens of all ranks are gathered, each rank computes what its
experts make of them, and the results are added up. The gathering was DTensor's full_tensor. What is
its gradient? By default DTensor takes the gradient of a whole tensor to be equal on all ranks, so
it keeps each rank's own rows and sends nothing. Here each rank's gradient is a part: that of its
experts. The tokens learned from the experts of their own rank alone. Losses went down, to 1.6 in
place of 1.4. It shows in the gradient of the layer before the experts.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Shard

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class GroupedExperts(nn.Module):
    def __init__(self, mesh, grad_placements):
        super().__init__()
        self.mesh, self.grad_placements = mesh, grad_placements
        every = torch.randn(2, 4, 4)
        self.mine = nn.Parameter(every.chunk(mesh.size())[mesh.get_local_rank()].clone())

    def forward(self, x):
        rows = DTensor.from_local(x, self.mesh, [Shard(0)])
        x = rows.full_tensor(grad_placements=self.grad_placements)
        parts = torch.stack([x @ expert for expert in self.mine])
        summed = DTensor.from_local(parts.sum(0), self.mesh, [Partial()])
        return summed.redistribute(placements=[Shard(0)]).to_local()


class Model(nn.Module):
    def __init__(self, mesh, grad_placements):
        super().__init__()
        self.embedding = nn.Linear(4, 4)
        self.experts = GroupedExperts(mesh, grad_placements)

    def forward(self, x):
        return self.experts(self.embedding(x).tanh())


def train(mesh, grad_placements):
    torch.manual_seed(0)
    model = Model(mesh, grad_placements)
    mine = X.chunk(mesh.size())[mesh.get_local_rank()]
    model(mine).square().sum().backward()
    for parameter in model.embedding.parameters():
        torch.distributed.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, grad_placements=None)


def right(mesh):
    train(mesh, grad_placements=[Partial()])


EXHIBIT = Exhibit(
    title="Gathered, without a way back",
    source="NVIDIA-NeMo/Automodel PR 1260",
    date="2026-02-12",
    check=SameAsOneDevice(layouts=[{"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of embedding",
)
