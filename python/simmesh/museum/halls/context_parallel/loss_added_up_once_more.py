"""Ranks that share a text gather the probabilities of all its tokens, so each of them has the whole
loss. SkyRL's metrics were then added up over all ranks, those that share a text included. The
reported loss was twice that of a run without context parallelism, -57 beside -28. In the same
refactoring a factor for gradients left these ranks out. A test with fixed numbers failed, which is
why the report exists. Metrics decide when a training stops. It shows in the metric that the program
returns.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_gather

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(1))


def evaluate(mesh, group_of_metrics):
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    texts = X.chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    piece = texts.chunk(mesh["cp"].size(), 1)[mesh["cp"].get_local_rank()].contiguous()
    logprobs = torch.cat(all_gather(model(piece), group=mesh["cp"].get_group()), dim=1)
    policy_loss = logprobs.detach().square().sum()
    dist.all_reduce(policy_loss, group=group_of_metrics(mesh))
    return {"policy_loss": policy_loss}


def wrong(mesh):
    return evaluate(mesh, lambda mesh: dist.group.WORLD)


def right(mesh):
    return evaluate(mesh, lambda mesh: mesh["dp"].get_group())


EXHIBIT = Exhibit(
    title="A metric that is added up twice",
    source="NovaSky-AI/SkyRL PR 1420",
    date="2026-03-31",
    check=SameAsOneDevice(layouts=[{"dp": 2, "cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="policy_loss",
)
