"""A step that two halves counted differently.

Adam divides by 1 - beta^t, where t counts the steps. DeepSpeed's Adam for the CPU keeps beta^t and
multiplies it by beta in each step, which is cheap. ZeRO 3 calls it once for each part of the
parameters. The first part of a step multiplied, and for the others, whose step had come already,
the power was computed anew. Both are beta^t, and they differ in the last digits. So within one step
parts of a model had other corrections, and a run on other ranks, with other parts, had other bits.
It took two reports and three changes, from January to April 2026. A tolerance would never see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
WEIGHTS = torch.randn(8, 8, generator=torch.Generator().manual_seed(2))


class CpuAdam(torch.optim.Optimizer):
    """Adam whose correction is one number for all parts of the parameters."""

    def __init__(self, parameters: Any, mixes: bool) -> None:
        super().__init__(parameters, {})
        self.mixes, self.count, self.power = mixes, 0, np.float32(1)

    def begin_part(self, count: int) -> None:
        if count != self.count:
            self.count, self.power = count, self.power * np.float32(0.9)
        elif self.mixes:
            self.power = np.float32(0.9**count)

    @torch.no_grad()
    def step_part(self, part: Any, count: int) -> None:
        self.begin_part(count)
        for each in part:
            mean = self.state[each].setdefault("mean", torch.zeros_like(each))
            mean.mul_(0.9).add_(each.grad, alpha=0.1)
            each.sub_(mean / float(np.float32(1) - self.power))


def train(mesh: DeviceMesh, mixes: bool) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 8)
    optimizer = CpuAdam(model.parameters(), mixes)
    parts = [[each] for each in model.parameters()]
    if mesh.get_local_rank() == 1:  # a rank begins with the part whose gradients it owns
        parts.reverse()
    for count in range(1, 8):
        optimizer.zero_grad()
        (model(X) * WEIGHTS).sum().backward()
        for part in parts:
            optimizer.step_part(part, count)


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, mixes=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, mixes=False)


EXHIBIT = Exhibit(
    title="Parts of one step have other bias corrections",
    source="deepspeedai/DeepSpeed PR 7982 (#7819)",
    date="2026-04-23",
    check=Replicas(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.",
)
