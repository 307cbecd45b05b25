"""A model was published in eight pieces for eight GPUs. On four GPUs each needs two of them. The
loader read the file with the GPU's own number and no other. It counts the names that it found, and
all names are in each file, so it reported that nothing is missing. The second half of each expert
stayed as it was made. A benchmark fell from 0.93 to 0.90, which looks like an effect of rounding.
Every number of a wrong load is a plausible weight. It shows in the initial parameters.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

WHOLE = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
FILES = {f"model-TP-{number:03d}": part for number, part in enumerate(WHOLE.chunk(4))}


def names_of(rank, size, reads_all):
    each = len(FILES) // size
    numbers = range(rank * each, rank * each + each) if reads_all or size == 1 else [rank]
    return [f"model-TP-{number:03d}" for number in numbers]


def load(mesh, reads_all):
    expert = nn.Linear(3, 8 // mesh.size(), bias=False)
    nn.init.zeros_(expert.weight)
    parts = [FILES[name] for name in names_of(mesh.get_local_rank(), mesh.size(), reads_all)]
    with torch.no_grad():
        for place, part in zip(expert.weight.split(len(parts[0])), parts):
            place.copy_(part)
    return expert(torch.ones(1, 3)).detach()


def wrong(mesh):
    return load(mesh, reads_all=False)


def right(mesh):
    return load(mesh, reads_all=True)


EXHIBIT = Exhibit(
    title="One file in place of two",
    source="sgl-project/sglang PR 36438",
    date="2026-08-26",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="initial parameter Linear.weight",
)
