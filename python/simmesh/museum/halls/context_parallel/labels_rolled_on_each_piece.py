"""A model predicts the next token, so labels are the tokens moved by one. With context parallelism
each rank has a piece of the text. verl cut the text first and moved the labels afterwards, on each
rank. At the end of a piece the next token is on another rank; the roll put the first token of the
own piece there. One label of each piece is wrong. In a plot of probabilities it is an outlier at
the border, and somebody looked at it. The cure moves the labels before the cut. It shows in the
loss that the program returns.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS = torch.tensor([3, 1, 4, 1, 5, 0, 2, 5])


def train(mesh, rolls_first):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6))
    rank, size = mesh.get_local_rank(), mesh.size()
    tokens = TOKENS.chunk(size)[rank]
    labels = TOKENS.roll(-1).chunk(size)[rank] if rolls_first else tokens.roll(-1)
    loss = F.cross_entropy(model(tokens), labels, reduction="sum") / len(TOKENS)
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    return {"loss": loss.detach()}


def wrong(mesh):
    return train(mesh, rolls_first=False)


def right(mesh):
    return train(mesh, rolls_first=True)


EXHIBIT = Exhibit(
    title="The label behind the border",
    source="verl-project/verl PR 4250",
    date="2025-11-23",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="F.cross_entropy(model(tokens), labels",
)
