"""The layer that was used twice and learned once.

Some models call one layer in two places, as tied blocks do. Stage 2 of ZeRO reduces a gradient as
soon as it is there, and has one mark for each parameter that says so. The second use came to the
same mark, found it set, and its gradient was dropped. Nothing fails then: the layer just trains on
half of what it should. Releases 0.18.3 to 0.19.3 of DeepSpeed had it for bfloat16. One device adds
both uses up, so the first gradient that is compared shows it.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.utils.checkpoint import checkpoint

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # A recomputed part of a model has a backward pass of its own.
        for _ in range(2):
            x = torch.tanh(checkpoint(self.layer, x, use_reentrant=True))
        return x


def train(mesh: DeviceMesh, forgets: bool) -> None:
    torch.manual_seed(0)
    model = Twice()
    buckets: dict[nn.Parameter, torch.Tensor] = {}

    def ready(parameter: torch.Tensor) -> None:
        assert isinstance(parameter, nn.Parameter) and parameter.grad is not None
        if parameter not in buckets:
            buckets[parameter] = parameter.grad.clone()
        elif not forgets:
            buckets[parameter] += parameter.grad
        parameter.grad = None

    if mesh.size() > 1:  # one device needs no buckets
        for each in model.parameters():
            each.register_post_accumulate_grad_hook(ready)
    loss_of(model, rows(mesh).requires_grad_()).backward()
    for parameter, bucket in buckets.items():
        dist.all_reduce(bucket, group=mesh.get_group())
        parameter.grad = bucket


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, forgets=True)


def right(mesh: DeviceMesh) -> None:
    train(mesh, forgets=False)


EXHIBIT = Exhibit(
    title="A layer that is used twice loses one gradient",
    source="deepspeedai/DeepSpeed #8224",
    date="2026",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of layer.weight",
)
