"""The largest element of a sum isn't the sum of the largest elements. DTensor's rule for reductions
looked at the dims that are reduced and asked if the tensor is cut there. A tensor that is a pending
sum isn't cut anywhere. So the reduction ran on each rank's part, and what came out was a pending
maximum or a pending sum of maxima. The same rule served minima and the norms of gradient clipping.
The cure makes such a tensor whole before it is reduced. It shows in the note that the program
makes, and the line of the reduction.
"""

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate

import simmesh
from simmesh.museum import Exhibit, SameAsOneDevice


def largest(mesh, before):
    torch.manual_seed(0)
    x = torch.randn(4, 6).chunk(mesh.size(), 1)[mesh.get_local_rank()]
    weight = torch.randn(5, 6).chunk(mesh.size(), 1)[mesh.get_local_rank()]
    part = DTensor.from_local(x @ weight.t(), mesh, [Partial()])
    if before:
        part = part.redistribute(placements=[Replicate()])
    top = part.to_local().amax(dim=1)
    if not before:
        top = DTensor.from_local(top, mesh, [Partial()]).full_tensor()
    return simmesh.note("largest", top)


def wrong(mesh):
    largest(mesh, before=False)


def right(mesh):
    largest(mesh, before=True)


EXHIBIT = Exhibit(
    title="The largest part is no part of the largest",
    source="pytorch/pytorch PR 165962",
    date="2025-10-21",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="top = part.to_local().amax(dim=1)",
)
