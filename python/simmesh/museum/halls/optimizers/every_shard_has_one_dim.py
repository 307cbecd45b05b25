"""Weight decay is for matrices, and biases and norms do without. open_clip knew them by their
number of dims: less than two. FSDP makes one flat vector of a layer's parameters. After that
everything has one dim, so nothing is a matrix, and nothing decays. The optimizer has its two
groups, and one of them is empty. Losses are even a little better at first. It was seen by reading,
while support for FSDP was under review. The cure makes the groups by name, or before the wrapper.
It shows in the first step of a weight.
"""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def by_dims(name, parameter):
    return parameter.ndim < 2


def by_name(name, parameter):
    return name.endswith("bias")


def train(mesh, excludes):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    if mesh.size() > 1:
        model = FSDP(model, device_mesh=mesh, use_orig_params=True, device_id=torch.device("cpu"))
    named = list(model.named_parameters())
    groups = [
        {"params": [each for name, each in named if excludes(name, each)], "weight_decay": 0.0},
        {"params": [each for name, each in named if not excludes(name, each)]},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.1, weight_decay=0.5)
    mine = X[rows_of(mesh.get_rank(), mesh.size(), len(X))]
    model(mine).square().mean().backward()
    optimizer.step()


def wrong(mesh):
    train(mesh, by_dims)


def right(mesh):
    train(mesh, by_name)


EXHIBIT = Exhibit(
    title="Nothing has two dims, so nothing decays",
    source="mlfoundations/open_clip PR 358",
    date="2023-02-18",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="parameter Linear.weight",
)
