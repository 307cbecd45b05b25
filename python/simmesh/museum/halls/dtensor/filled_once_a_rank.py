"""A sum that is pending lies on the ranks as terms: the tensor is what they add up to. Filling it
with a number means that the tensor becomes this number. PyTorch 2.15 fills each rank's term. When
the sum is taken, the number comes out once for each rank. Zero is the number that people fill
with most, and zero times four is zero. So it takes years to meet it. It was found by simmesh's
check of PyTorch's own rules. It shows in the tensor: 2 times one device's.
"""

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate

from simmesh.museum import Exhibit, SameAsOneDevice


def fill_terms(x, value):
    x.to_local().fill_(value)
    return x


def fill_the_sum(x, value):
    x = x.redistribute(placements=[Replicate()])
    x.to_local().fill_(value)
    return x


def run(mesh, fill):
    terms = torch.ones(3) * mesh.get_local_rank()
    pending = DTensor.from_local(terms, mesh, [Partial()], run_check=False)
    return fill(pending, 5.0).full_tensor()


def wrong(mesh):
    return run(mesh, fill_terms)


def right(mesh):
    return run(mesh, fill_the_sum)


EXHIBIT = Exhibit(
    title="Filled once a rank",
    source="pytorch 2.15.0, fill_ of a pending sum",
    date="2026-11",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
