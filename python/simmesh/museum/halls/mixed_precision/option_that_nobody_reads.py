"""An option under a name that nobody read.

A wrapper takes dtypes: parameters in bfloat16 for computing, gradients reduced in float32. A
trainer has settings of its own and hands them on. In Swift the setting for the reduction was handed
on under a name that nobody read, and unknown names are dropped. Gradients were reduced in the dtype
of the parameters, with eight bits. Nothing warned, for the setting was known to the trainer. The
title of the change says so, and no more is known here. A step sends half of the bytes that were
asked for, and a count of bytes finds it.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Counts, Exhibit

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Wrapped(nn.Module):
    """Computes in one dtype and reduces in another, if it gets one."""

    def __init__(self, module: nn.Module, param_dtype: torch.dtype, **options: Any) -> None:
        super().__init__()
        self.module, self.param_dtype = module.to(param_dtype), param_dtype
        self.reduce_dtype = options.get("reduce_dtype", param_dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x.to(self.param_dtype))

    def reduce(self) -> None:
        for parameter in self.parameters():
            assert parameter.grad is not None
            gradient = parameter.grad.to(self.reduce_dtype)
            dist.all_reduce(gradient)
            parameter.grad.copy_(gradient)


def train(**settings: Any) -> None:
    torch.manual_seed(0)
    model = Wrapped(nn.Linear(4, 2), **settings)
    mine = X[rows_of(dist.get_rank(), dist.get_world_size(), len(X))]
    model(mine).square().sum().backward()
    model.reduce()


def wrong() -> None:
    train(param_dtype=torch.bfloat16, fp32_reduce=torch.float32)


def right() -> None:
    train(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


EXHIBIT = Exhibit(
    title="The option for the reduction has a name that nobody reads",
    source="modelscope/ms-swift PR 9590",
    date="2026-06-18",
    check=Counts(ranks=2, nbytes={"all_reduce": 40}),
    wrong=wrong,
    right=right,
    at_fault="dist.all_reduce(gradient)",
)
