"""A fast gather needs memory that all GPUs have registered, which takes time. So vLLM kept such
buffers, one for each shape, and returned them as the result. The next gather of that shape writes
into the same buffer, while the first result is still in use. Each call computes the right numbers,
and one of them doesn't last. It takes two layers of the same size whose results live at the same
time. A model on sixteen GPUs answered all of sixteen prompts otherwise. The cure copies before it
returns. It shows in the output of the block that uses both.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


class SymmetricGather:
    def __init__(self, mesh, copies):
        self.mesh, self.copies, self.scratch = mesh, copies, {}

    def __call__(self, part):
        shape = (part.shape[0] * self.mesh.size(), *part.shape[1:])
        buffer = self.scratch.setdefault(shape, torch.empty(shape))
        dist.all_gather_into_tensor(buffer, part.contiguous(), group=self.mesh.get_group())
        return buffer.clone() if self.copies or self.mesh.size() == 1 else buffer


class Block(nn.Module):
    def __init__(self, mesh, copies):
        super().__init__()
        rank, size = mesh.get_local_rank(), mesh.size()
        self.gather = SymmetricGather(mesh, copies)
        self.register_buffer("gate", torch.randn(6, 3).chunk(size)[rank])
        self.register_buffer("up", torch.randn(6, 3).chunk(size)[rank])

    def forward(self, x):
        gate = self.gather(self.gate @ x.t())
        up = self.gather(self.up @ x.t())
        return gate.tanh() * up


def forward(mesh, copies):
    torch.manual_seed(0)
    return Block(mesh, copies)(X)


def wrong(mesh):
    return forward(mesh, copies=False)


def right(mesh):
    return forward(mesh, copies=True)


EXHIBIT = Exhibit(
    title="A result that doesn't last",
    source="vllm-project/vllm PR 58154",
    date="2026-09-22",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="return gate.tanh() * up",
)
