"""The norm of all gradients counts each parameter once. Parameters that tensor parallelism cuts
carry a mark, so that their pieces on all ranks are added up; those without it are copies, and
rank 0 counts for all. A change in Megatron took the mark from the weights of experts. The norm
missed the shards of all ranks but the first, and clipping let through what it should have cut. It
shows in the gradient norm.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate

from simmesh.museum import Exhibit, SameAsOneDevice


class Expert(nn.Module):
    def __init__(self, mesh, has_mark):
        super().__init__()
        self.mesh = mesh
        up, down = torch.randn(3, 4), torch.randn(4, 3)
        rank, ranks = mesh.get_local_rank(), mesh.size()
        self.up = nn.Parameter(up.chunk(ranks, 1)[rank].clone())
        self.down = nn.Parameter(down.chunk(ranks)[rank].clone())
        for parameter in self.parameters():
            parameter.tensor_model_parallel = has_mark

    def forward(self, x):
        x = DTensor.from_local(x, self.mesh, [Replicate()]).to_local(grad_placements=[Partial()])
        part = torch.relu(x @ self.up) @ self.down
        return DTensor.from_local(part, self.mesh, [Partial()]).full_tensor()


def train(mesh, has_mark):
    torch.manual_seed(0)
    expert = Expert(mesh, has_mark)
    optimizer = torch.optim.SGD(expert.parameters(), lr=0.1)
    expert(torch.randn(4, 3)).square().sum().backward()
    counted = [
        each
        for each in expert.parameters()
        if each.tensor_model_parallel or mesh.get_local_rank() == 0
    ]
    square = torch.stack([torch.zeros(()), *(each.grad.square().sum() for each in counted)]).sum()
    dist.all_reduce(square, group=mesh.get_group())
    nn.utils.clip_grads_with_norm_(expert.parameters(), 0.1, square.sqrt())
    optimizer.step()


def wrong(mesh):
    train(mesh, has_mark=False)


def right(mesh):
    train(mesh, has_mark=True)


EXHIBIT = Exhibit(
    title="Half of an expert in the norm",
    source="NVIDIA/Megatron-LM PR 5916",
    date="2026-07-25",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient norm",
)
