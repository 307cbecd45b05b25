"""Tokens travel to their experts and back. On the way out each rank sends the numbers of the
experts along, and gets those of the tokens that others sent it. On the way back the ids of its own
tokens are needed, to know which expert's answer belongs to which token. A variable had the name of
the first and held the second. Up to sixteen ranks answers were fine by luck of the layout; on
thirty-two the model talked nonsense. Shapes are equal, so nothing fails. It shows in the output of
the experts.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
IDS = torch.tensor([0, 1, 1, 0, 0, 0, 1, 1])


class Experts(nn.Module):
    def __init__(self, mesh, uses_own_ids):
        super().__init__()
        self.mesh, self.uses_own_ids = mesh, uses_own_ids
        weights = torch.randn(2, 3, 3)
        self.register_buffer("mine", weights.chunk(mesh.size())[mesh.get_local_rank()])

    def exchange(self, value):
        result = torch.empty_like(value)
        dist.all_to_all_single(result, value, group=self.mesh.get_group())
        return result

    def forward(self, x, topk_ids):
        order = topk_ids.argsort(stable=True)
        sent, topk_ids_there = self.exchange(x[order]), self.exchange(topk_ids[order])
        experts = topk_ids_there - self.mesh.get_local_rank() * len(self.mine)
        answers = torch.einsum("ti,tio->to", sent, self.mine[experts])
        back = self.exchange(answers)
        ids = topk_ids if self.uses_own_ids else topk_ids_there
        return back[ids.argsort(stable=True).argsort()]


def forward(mesh, uses_own_ids):
    torch.manual_seed(0)
    rank, size = mesh.get_local_rank(), mesh.size()
    return Experts(mesh, uses_own_ids)(X.chunk(size)[rank], IDS.chunk(size)[rank])


def wrong(mesh):
    return forward(mesh, uses_own_ids=False)


def right(mesh):
    return forward(mesh, uses_own_ids=True)


EXHIBIT = Exhibit(
    title="The answers of other tokens",
    source="vllm-project/vllm PR 52639",
    date="2026-08-17",
    check=SameAsOneDevice(layouts=[{"ep": 2}]),
    wrong=wrong,
    right=right,
    at_fault="one device's rows in another order",
)
