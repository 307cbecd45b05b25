"""Multi-token prediction adds a head that also sees the embedding of the next token. Under
sequence parallelism the main embedding leaves each rank with its own part of the sequence.
Megatron's extra head used an embedding that wasn't scattered where the main one was. It took the
first tokens that fitted: on every rank those of the beginning of the sequence. Shapes agree, the
loss of the extra head falls, and it learns to predict from the wrong tokens. It shows in the
output of that head on all ranks but the first.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class ExtraHead(nn.Module):
    def __init__(self, mesh, scatters):
        super().__init__()
        self.mesh, self.scatters = mesh, scatters
        self.embed, self.mix = nn.Embedding(8, 4), nn.Linear(8, 4)

    def forward(self, hidden, next_tokens):
        embedded, length = self.embed(next_tokens), len(hidden)
        first = self.mesh.get_local_rank() * length if self.scatters else 0
        return self.mix(torch.cat([hidden, embedded[first : first + length]], -1))


def train(mesh, scatters):
    torch.manual_seed(0)
    head = ExtraHead(mesh, scatters)
    hidden = torch.randn(6, 4).chunk(mesh.size())[mesh.get_local_rank()]
    y = head(hidden, torch.tensor([3, 1, 4, 1, 5, 7]))
    return DTensor.from_local(y, mesh, [Shard(0)]).full_tensor().detach()


def wrong(mesh):
    return train(mesh, scatters=False)


def right(mesh):
    return train(mesh, scatters=True)


EXHIBIT = Exhibit(
    title="The head that reads the beginning",
    source="NVIDIA/Megatron-LM PR 6256",
    date="2026-08-07",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of mix",
)
