"""Trainings that diverge after a thousand steps.

Scales for eight-bit numbers come from the largest value of a tensor. A tensor that is cut over
tensor parallel ranks needs the largest over these ranks too. The library passed the group of data
parallel ranks as the one to reduce over. All trainings of a large model with eight such ranks went
well for a thousand iterations, and then diverged. Comparing the code with a sister project's showed
the difference in one argument.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 6, generator=torch.Generator().manual_seed(1)) * torch.tensor(
    [1.0, 2.0, 4.0, 8.0, 64.0, 128.0]
)


class Quantize(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, x):
        amax = x.abs().max()
        dist.all_reduce(amax, op=dist.ReduceOp.MAX, group=self.group)
        scale = 448.0 / amax
        return (x * scale).to(torch.float8_e4m3fn).float() / scale


def run(mesh, group):
    dp, tp = mesh["dp"], mesh["tp"]
    mine = X.chunk(dp.size())[dp.get_local_rank()]
    mine = mine.chunk(tp.size(), dim=1)[tp.get_local_rank()]
    return Quantize(group)(mine)


def wrong(mesh):
    return run(mesh, mesh["dp"].get_group())


def right(mesh):
    return run(mesh, dist.group.WORLD)


EXHIBIT = Exhibit(
    title="The largest of another group",
    source="NVIDIA/Megatron-LM PR 442",
    date="2023-08-01",
    check=SameAsOneDevice(layouts=[{"dp": 2, "tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Quantize",
)
