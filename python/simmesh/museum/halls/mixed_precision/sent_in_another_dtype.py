"""Rank 0 loads a model, and the others make an empty one and get everything from it. Rotary
frequencies are float32 whatever the model's dtype, and loading respects that. The empty models were
converted as a whole, frequencies too. So rank 0 sent float32 and the others received bfloat16: each
float32's bytes became two numbers. NCCL moves bytes and doesn't ask. The frequencies were garbage,
and with sequence parallelism every position was NaN. It shows as two ranks that disagree, with both
dtypes and the line.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Schedules


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        frequencies = torch.tensor([1.0, 0.1, 0.01, 0.001])
        self.register_buffer("inv_freq", frequencies, persistent=False)
        self.weight = nn.Parameter(torch.ones(4))


def empty_model(keeps_buffers):
    model = Rotary()
    if not keeps_buffers:
        return model.to(torch.bfloat16)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return model


def load(mesh, keeps_buffers):
    is_first = mesh.get_local_rank() == 0
    model = empty_model(keeps_buffers=is_first or keeps_buffers)
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0, group=mesh.get_group())
    return model.inv_freq


def wrong(mesh):
    return load(mesh, keeps_buffers=False)


def right(mesh):
    return load(mesh, keeps_buffers=True)


EXHIBIT = Exhibit(
    title="Each number becomes two",
    source="NovaSky-AI/SkyRL PR 1725 (#1709)",
    date="2026-05-28",
    check=Schedules(schedules=3),
    wrong=wrong,
    right=right,
    at_fault="dist.broadcast(buffer, src=0, group=mesh.get_group())",
)
