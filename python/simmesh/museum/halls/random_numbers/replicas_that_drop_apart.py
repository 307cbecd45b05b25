"""Replicas with other masks.

Under tensor parallelism the activations between two cut layers are whole on each rank, and dropout
there must have the same mask on all of them. The ranks of a tensor parallel group had been given
different seeds, one by its number. Each rank then dropped other elements of the same tensor, and
their parts of the next product no longer belonged together. The result is still random and has the
right mean, so losses look as with more dropout.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))


def run(mesh, has_own_seed):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    torch.manual_seed(42 + mesh.get_local_rank() if has_own_seed else 42)
    return model(X)


def wrong(mesh):
    return run(mesh, has_own_seed=True)


def right(mesh):
    return run(mesh, has_own_seed=False)


EXHIBIT = Exhibit(
    title="Replicas that drop different elements",
    source="InternLM/InternLM PR 405",
    date="2023-10-09",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of 1",
)
