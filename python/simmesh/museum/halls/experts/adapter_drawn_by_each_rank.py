"""Experts of several ranks may share one adapter: the same matrices, used by all. Experts are
initialized under a seed that differs by rank, since each of them should have numbers of its own.
The shared adapter was made in the same place, so each rank drew its own. From then on all ranks
added the same sum of gradients to different matrices. The gradients were checked and are equal,
which is what made it hard to see: equal updates keep a difference for ever. The export writes one
rank's copy. It shows before the first step, in the initial parameters.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Experts(nn.Module):
    def __init__(self, mesh, broadcasts):
        super().__init__()
        torch.manual_seed(100 + mesh.get_local_rank())
        self.weight = torch.randn(4, 4)
        self.lora_a = nn.Parameter(torch.randn(2, 4))
        self.lora_b = nn.Parameter(torch.zeros(4, 2))
        if broadcasts:
            dist.broadcast(self.lora_a.data, src=0, group=mesh.get_group())

    def forward(self, x):
        return x @ self.weight.t() + x @ self.lora_a.t() @ self.lora_b.t()


def train(mesh, broadcasts):
    experts = Experts(mesh, broadcasts)
    optimizer = torch.optim.AdamW(experts.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        experts(X.chunk(mesh.size())[mesh.get_local_rank()]).square().sum().backward()
        for parameter in experts.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        optimizer.step()


def wrong(mesh):
    train(mesh, broadcasts=False)


def right(mesh):
    train(mesh, broadcasts=True)


EXHIBIT = Exhibit(
    title="One adapter, drawn by each rank",
    source="NVIDIA-NeMo/Megatron-Bridge PR 5396",
    date="2026-08-06",
    check=Replicas(layout={"ep": 2}),
    wrong=wrong,
    right=right,
    at_fault="Experts.lora_a",
)
