"""FSDP takes the mean of gradients over its ranks. A loss that is a sum, divided by the tokens of
all ranks, must be multiplied by their number to undo that. VeOmni multiplied by the number of data
ranks. With sequence parallelism FSDP's ranks are more: those that share a text count too. On eight
ranks that all share one text the loss was an eighth. The report has the numbers, 0.125 in place of
1.0. Logs show the small loss as well, so nothing seems odd in one run. It shows in the first
gradient, as a factor.
"""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(2, 8, 3, generator=torch.Generator().manual_seed(1))


def train(mesh, scale):
    torch.manual_seed(0)
    model = fully_shard(nn.Linear(3, 2), mesh=mesh["dp", "sp"]._flatten("dp_sp"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    texts = X.chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    piece = texts.chunk(mesh["sp"].size(), 1)[mesh["sp"].get_local_rank()]
    loss = model(piece).square().sum() / 16 * scale(mesh)
    loss.backward()
    optimizer.step()


def wrong(mesh):
    train(mesh, lambda mesh: mesh["dp"].size())


def right(mesh):
    train(mesh, lambda mesh: mesh.size())


EXHIBIT = Exhibit(
    title="The loss, by the number of its pieces",
    source="ByteDance-Seed/VeOmni PR 338",
    date="2025-12-29",
    check=SameAsOneDevice(layouts=[{"dp": 1, "sp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
