"""LoRA adds two small matrices to a layer. On a row-parallel layer, the first one is cut as the
layer is, and its product is scattered over the sequence. The second one is whole on each rank, and
sees that rank's piece of the sequence alone. So its gradient is a part of a sum, as those of norms
are under sequence parallelism. Megatron adds up what is marked, and the bridge to LoRA didn't mark
it. Each rank trained a matrix of its own, and the file got rank 0's. A user found it since the
exported matrix of the last layer was zero: rank 0's tokens there had no loss. It shows in the first
gradient.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class RowParallel(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.mesh, rank, size = mesh, mesh.get_local_rank(), mesh.size()
        weight, lora_a = torch.randn(4, 8), torch.randn(2, 8)
        self.register_buffer("weight", weight.chunk(size, 1)[rank])
        self.lora_a = nn.Parameter(lora_a.chunk(size, 1)[rank].clone())
        self.lora_b = nn.Parameter(torch.randn(4, 2))

    def reduce_scatter(self, part):
        return DTensor.from_local(part, self.mesh, [Partial()]).redistribute(placements=[Shard(0)])

    def forward(self, x):
        base = self.reduce_scatter(F.linear(x, self.weight)).to_local()
        low = self.reduce_scatter(F.linear(x, self.lora_a)).to_local()
        return base + F.linear(low, self.lora_b)


def train(mesh, marked):
    torch.manual_seed(0)
    layer = RowParallel(mesh)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)
    x = torch.randn(6, 8).chunk(mesh.size(), 1)[mesh.get_local_rank()]
    layer(x).square().sum().backward()
    for name in marked:
        dist.all_reduce(layer.get_parameter(name).grad, group=mesh.get_group())
    optimizer.step()


def wrong(mesh):
    train(mesh, marked=[])


def right(mesh):
    train(mesh, marked=["lora_b"])


EXHIBIT = Exhibit(
    title="An adapter that learns from one piece",
    source="modelscope/mcore-bridge PR 173",
    date="2026-08-26",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of RowParallel.lora_b",
)
