"""Ranks that walked through a set.

Megatron's FSDP kept the groups of parameters that were ready in a set of Python, and reduced them
in the order in which the set gave them out. A set has no order of its own. It follows hashes, and
those of texts differ from process to process, as Python wants it. So one rank reduced the first
layer while another reduced the second. If both have one size nothing fails: each layer simply gets
the gradients of another. If sizes differ, the job hangs or stops. Here the salt of the hashes is
the rank, and the two layers have one size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

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


def train(mesh: DeviceMesh, is_sorted: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4, bias=False) for _ in range(4)))
    loss_of(model, rows(mesh)).backward()
    ready = {name: each.grad for name, each in model.named_parameters()}
    order = sorted(ready) if is_sorted else order_of_a_set(ready, mesh.get_local_rank())
    for name in order:
        dist.all_reduce(ready[name], group=mesh.get_group())


def order_of_a_set(names: Iterable[str], salt: int) -> list[str]:
    """The order of names by their hashes in a process whose hashes have this salt."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{salt}{name}".encode()).digest())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, is_sorted=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, is_sorted=True)


EXHIBIT = Exhibit(
    title="Gradients are reduced in the order of a set",
    source="NVIDIA/Megatron-LM PR 2218",
    date="2025-11-13",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of 0.weight",
)
