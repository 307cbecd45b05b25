"""The padding is inside the mean.

A loader fills up the last batch with rows from the beginning, so that each rank has as many. A
function that gathers metrics knows that, and drops the surplus rows. Trainers gave it the mean over
their rows, which has no rows to drop: the repeated ones are already inside. The last batch of each
evaluation was biased, with a sign that depends on the row that was repeated. Rewards, margins and
accuracies were affected in several trainers. What is right gathers first and averages then, and
repeated rows alone are no fault.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))


def batch_of(rank, ranks):
    each = -(-len(X) // ranks)
    padded = torch.cat([X, X[: each * ranks - len(X)]])
    return padded[rank * each : (rank + 1) * each]


def gather_for_metrics(value, ranks, group):
    value = value if value.dim() else value[None]
    parts = [torch.empty_like(value) for _ in range(ranks)]
    dist.all_gather(parts, value, group=group)
    return torch.cat(parts)[: len(X)]


def evaluate(mesh, reduce):
    torch.manual_seed(0)
    rewards = nn.Linear(4, 1)(batch_of(mesh.get_local_rank(), mesh.size()))[:, 0].detach()
    return {"reward": gather_for_metrics(reduce(rewards), mesh.size(), mesh.get_group()).mean()}


def wrong(mesh):
    return evaluate(mesh, torch.mean)


def right(mesh):
    return evaluate(mesh, lambda rewards: rewards)


EXHIBIT = Exhibit(
    title="Averaged before it was gathered",
    source="huggingface/trl #7010",
    date="2026-09-02",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="reward",
)
