"""A server keeps room for adapters of rank 4, and one comes with rank 2. Its matrices are padded
with zeros at the end. Cut over two ranks, the first matrix became two pieces of one row each, and
each piece was padded to two. Gathered, the result has a zero between its two numbers. The second
matrix is padded at the end, as a whole. So its columns met the wrong numbers: the second column met
a zero, and a number met a column of zeros. Adapters of the full rank were fine. It shows in the
output of the adapter.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice

RANK, MOST = 2, 4
X = torch.randn(3, 6, generator=torch.Generator().manual_seed(1))


class Adapter(nn.Module):
    def __init__(self, mesh, pads_first):
        super().__init__()
        self.mesh, rank, size = mesh, mesh.get_local_rank(), mesh.size()
        a, b = torch.randn(RANK, 6), torch.randn(5, RANK)
        if pads_first:
            mine = F.pad(a, (0, 0, 0, MOST - RANK)).chunk(size)[rank]
        else:
            mine = F.pad(a.chunk(size)[rank], (0, 0, 0, (MOST - RANK) // size))
        self.register_buffer("a", mine)
        self.register_buffer("b", F.pad(b, (0, MOST - RANK)))

    def forward(self, x):
        low = DTensor.from_local(x @ self.a.t(), self.mesh, [Shard(1)]).full_tensor()
        return low @ self.b.t()


def forward(mesh, pads_first):
    torch.manual_seed(0)
    return Adapter(mesh, pads_first)(X)


def wrong(mesh):
    return forward(mesh, pads_first=False)


def right(mesh):
    return forward(mesh, pads_first=True)


EXHIBIT = Exhibit(
    title="A zero between two numbers",
    source="vllm-project/vllm PR 31994",
    date="2026-01-08",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Adapter",
)
