"""A router that balanced by rounded scores.

A router gives each token a score for each expert, and a second loss keeps experts equally busy.
Sums over many tokens need digits, so scores are computed in float32. Megatron took the sigmoid for
the balance in bfloat16, since its input was, and only then widened it. Scores near each other
became equal, and the balance saw ties where the router saw none. With ranks that hold parts of the
tokens the rounded numbers are added up as if they were exact. The gradient of the router differs in
every element.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


def train(mesh: DeviceMesh, rounds: bool) -> None:
    torch.manual_seed(0)
    router = nn.Linear(4, 4, bias=False)
    logits = router(rows(mesh))
    scores = logits.bfloat16().sigmoid().float() if rounds else logits.sigmoid()
    load = scores.detach().sum(0)
    dist.all_reduce(load, group=mesh.get_group())
    ((scores * load).sum() / len(X) ** 2).backward()
    dist.all_reduce(router.weight.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, rounds=mesh.size() > 1)  # the option of parallel routers


def right(mesh: DeviceMesh) -> None:
    train(mesh, rounds=False)


EXHIBIT = Exhibit(
    title="A router's scores are rounded before they are added up",
    source="NVIDIA/Megatron-LM PR 2765",
    date="2026-02-26",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of the output of Linear",
)
