"""Beside its experts a layer has one that every token visits. The routed experts are spread over
ranks, and their parts are added up. The shared one is whole on each rank. A refactoring put both
together before the sum, to save an operation: then the shared expert's answer comes in once for
each rank, eight times on eight. The scores of two benchmarks fell, and a test for them had been
waived. The cure is the old order: first the sum over ranks, then the shared expert. It shows in the
output of the layer.
"""

import torch
from torch import nn
from torch.distributed.nn.functional import all_reduce

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


class MoE(nn.Module):
    def __init__(self, mesh, adds_first):
        super().__init__()
        self.group, self.adds_first = mesh.get_group(), adds_first
        every = [nn.Linear(3, 3, bias=False) for _ in range(4)]
        rank, size = mesh.get_local_rank(), mesh.size()
        self.experts = nn.ModuleDict({str(index): every[index] for index in range(rank, 4, size)})
        self.shared_expert = nn.Linear(3, 3)

    def forward(self, x):
        routed = torch.stack([expert(x) for expert in self.experts.values()]).sum(0)
        shared = self.shared_expert(x)
        if self.adds_first:
            return all_reduce(routed + shared, group=self.group)
        return all_reduce(routed, group=self.group) + shared


def forward(mesh, adds_first):
    torch.manual_seed(0)
    return MoE(mesh, adds_first)(X).tanh()


def wrong(mesh):
    return forward(mesh, adds_first=True)


def right(mesh):
    return forward(mesh, adds_first=False)


EXHIBIT = Exhibit(
    title="The shared expert speaks once a rank",
    source="NVIDIA/TensorRT-LLM PR 15922",
    date="2026-07-03",
    check=SameAsOneDevice(layouts=[{"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="return all_reduce(routed + shared, group=self.group)",
)
