"""A division by nothing.

1-bit LAMB scales the update of each parameter by its length over the square root of its number of
elements, and brings these scales together. ZeRO and pipelines leave ranks with parameters that are
empty there. Zero over the square root of zero isn't a number. One such parameter made the scale of
all parameters NaN, and with it every update on every rank. At least that is loud. Yet it needs a
rank with an empty piece, and a test on one device has none. Empty pieces are the first thing to try
on anything that divides.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

PARAMETERS = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).unbind()


def scale(mesh: DeviceMesh, skips_empty: bool) -> torch.Tensor:
    total = torch.zeros(())
    for index, parameter in enumerate(PARAMETERS):
        is_mine = index % mesh.size() == mesh.get_local_rank()
        own = parameter if is_mine else parameter[:0]
        if own.numel() == 0 and skips_empty:
            continue
        total += own.square().sum().sqrt() / torch.tensor(float(own.numel())).sqrt()
    dist.all_reduce(total, group=mesh.get_group())
    return total / len(PARAMETERS)


def wrong(mesh: DeviceMesh) -> torch.Tensor:
    return scale(mesh, skips_empty=False)


def right(mesh: DeviceMesh) -> torch.Tensor:
    return scale(mesh, skips_empty=True)


EXHIBIT = Exhibit(
    title="An empty parameter makes every update NaN",
    source="deepspeedai/DeepSpeed PR 7736",
    date="2025-12-25",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
