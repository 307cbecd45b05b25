"""Context parallelism cuts a sequence, and all ranks have the same weights. So a weight's
gradient is a sum over data-parallel and context-parallel ranks. In a report on Megatron and
TransformerEngine the gradients of attention were off by up to 1.2 relative under context
parallelism, while the forward pass agreed. A study of silent errors has it in its table. The
program here has the plainest such fault: the average over context ranks is taken where a sum is
due, in attention alone. It shows in the gradients of attention: half of one device's on two
ranks.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class Block(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.mesh = mesh
        self.keys, self.out = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)

    def forward(self, x):
        keys = DTensor.from_local(self.keys(x), self.mesh, [Shard(0)])
        keys = keys.full_tensor(grad_placements=[Partial()])
        return self.out((x @ keys.t()).softmax(-1) @ keys)


def train(mesh, scale_of_attention):
    torch.manual_seed(0)
    block = Block(mesh)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    x, weights = (torch.randn(4, 3).chunk(ranks)[rank] for _ in range(2))
    (block(x) * weights).sum().backward()
    for name, parameter in block.named_parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
        if name.startswith("keys"):
            parameter.grad *= scale_of_attention(mesh)


def wrong(mesh):
    train(mesh, lambda mesh: 1 / mesh.size())


def right(mesh):
    train(mesh, lambda mesh: 1)


EXHIBIT = Exhibit(
    title="Forward right, backward off",
    source="NVIDIA/Megatron-LM #1464, NVIDIA/TransformerEngine #1557",
    date="2025-03-11",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of keys.weight",
)
