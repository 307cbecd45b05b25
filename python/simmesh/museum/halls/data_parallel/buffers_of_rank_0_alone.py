"""A large model is built with its weights on rank 0, and without memory on all others. Those get
memory that has whatever was there, and then their shard of each weight. Buffers that aren't saved,
such as the frequencies of rotary positions, are in no file. The simple path sent them from rank 0.
The path for sequence and tensor parallelism didn't. Ranks but the first computed positions from old
memory, sometimes NaN, and often numbers. Looking at them with a debugger changed what the memory
had. Four projects have this report. It shows in the buffer, or in what it makes.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Rotary(nn.Module):
    def __init__(self, is_empty):
        super().__init__()
        freq = torch.tensor([1.0, 0.1, 0.01, 0.001])
        freq = torch.zeros(4) if is_empty else freq  # zeros stand for what the memory had
        self.register_buffer("inv_freq", freq, persistent=False)

    def forward(self, x):
        return x * self.inv_freq.cos()


def train(mesh, broadcasts):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), Rotary(is_empty=mesh.get_local_rank() > 0))
    fully_shard(model, mesh=mesh)
    if broadcasts:
        for buffer in model.buffers():
            dist.broadcast(buffer, src=0, group=mesh.get_group())
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    model(mine).square().mean().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, broadcasts=False)


def right(mesh):
    train(mesh, broadcasts=True)


EXHIBIT = Exhibit(
    title="Positions from old memory",
    source="EvolvingLMMs-Lab/lmms-engine PR 185, hiyouga/LlamaFactory PR 10820",
    date="2026-07-02",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of 1",
)
