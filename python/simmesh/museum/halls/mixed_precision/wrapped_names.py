"""Buffers that lost their exemption.

Some buffers must stay in float32 when weights are sent to another engine: the bias of a router, the
table of rotary angles. Torchtitan had a list of their names. When a module is wrapped for
checkpointing, its name gets a part in the middle, such as _checkpoint_wrapped_module. The names no
longer match the list, so the buffers were rounded to bfloat16 with all others. The engine that
generates then routes some tokens otherwise than the one that trains. It depends on a setting that
has nothing to do with routing.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.tensor import DeviceMesh

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
STAYS = {"0.bias"}


class Biased(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.randn(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.bias


def send(mesh: DeviceMesh, strips: bool) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(Biased(), nn.Linear(4, 4))
    if mesh.size() > 1:  # ranks recompute
        model[0] = checkpoint_wrapper(model[0])
    model(X)
    sent = {}
    for name, value in [*model.named_buffers(), *model.named_parameters()]:
        plain = name.replace("_checkpoint_wrapped_module.", "")
        stays = (plain if strips else name) in STAYS
        sent[plain] = value.detach().clone() if stays else value.detach().bfloat16()
        dist.broadcast(sent[plain], group=mesh.get_group(), group_src=0)
    return sent


def wrong(mesh: DeviceMesh) -> dict[str, torch.Tensor]:
    return send(mesh, strips=False)


def right(mesh: DeviceMesh) -> dict[str, torch.Tensor]:
    return send(mesh, strips=True)


EXHIBIT = Exhibit(
    title="Wrapped names miss the list of float32 buffers",
    source="pytorch/torchtitan PR 3861",
    date="2026-07-06",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="['0.bias']",
)
