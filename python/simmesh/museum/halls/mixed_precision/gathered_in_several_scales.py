"""Each rank reads the rows of the others in its own scale.

Under sequence parallelism activations are quantized to eight bits and then gathered. A switch said
that the largest values need not be reduced over ranks, which saves a collective. But the gather
sends the eight bits alone, and each rank multiplies all rows by its own scale. Rows of a rank with
larger values come out too small by the ratio of the scales. The network learns around it, and only
converges worse.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.tensor([[0.1, 0.2], [0.3, 0.4], [90.0, 8.0], [30.0, 7.0]])


class Gather(nn.Module):
    """Gathers rows in eight bits, with one scale."""

    def __init__(self, mesh, reduces):
        super().__init__()
        self.group, self.ranks, self.reduces = mesh.get_group(), mesh.size(), reduces

    def forward(self, x):
        amax = x.abs().max()
        if self.reduces:
            dist.all_reduce(amax, op=dist.ReduceOp.MAX, group=self.group)
        scale = 448.0 / amax
        quantized = (x * scale).to(torch.float8_e4m3fn).view(torch.uint8)
        whole = torch.empty(self.ranks * len(x), x.shape[1], dtype=torch.uint8)
        dist.all_gather_into_tensor(whole, quantized, group=self.group)
        return whole.view(torch.float8_e4m3fn).float() / scale


def run(mesh, reduces):
    torch.manual_seed(0)
    mine = X.chunk(mesh.size())[mesh.get_local_rank()]
    return nn.Linear(2, 2)(Gather(mesh, reduces)(mine))


def wrong(mesh):
    return run(mesh, reduces=False)


def right(mesh):
    return run(mesh, reduces=True)


EXHIBIT = Exhibit(
    title="Rows that arrive in another scale",
    source="NVIDIA/TransformerEngine PR 74",
    date="2023-02-14",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Gather",
)
