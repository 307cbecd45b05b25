"""The loss in a log is a sum over all ranks, divided by the number of tokens. Ranks of context
parallelism share a sequence; here they have gathered it, so each knows its whole loss. torchtitan
added the losses up over all ranks, and the same sequence came in once for each of them. The
number in the log depends on the layout: two runs of one model can't be compared. The gradients
were right, so nobody who looks at the model finds anything. It shows in the loss: 2 times one
device's.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


def validate(mesh, dims):
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    rows = torch.randn(4, 4).chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    loss = nn.functional.mse_loss(model(rows), rows, reduction="sum").detach()
    for dim in dims:
        dist.all_reduce(loss, group=mesh[dim].get_group())
    return loss / 4


def wrong(mesh):
    return validate(mesh, ["dp", "cp"])


def right(mesh):
    return validate(mesh, ["dp"])


EXHIBIT = Exhibit(
    title="Counted once for each rank",
    source="pytorch/torchtitan PR 761",
    date="2024-12",
    check=SameAsOneDevice(layouts=[{"dp": 2, "cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
