"""A matrix of 12 x 8 lies on four ranks, cut by columns: two columns each. The program asks for a
view of 16 x 6. On one device that is free, since rows lie one after the other. On ranks the
elements of a row of the view lie with several ranks, so they would have to move. PyTorch's
DTensor answered with a tensor that is cut by rows, and moved nothing. Each rank viewed its own
two columns and called them rows of the whole. The report of April 2026 has "high priority", and
the shape of the result is right. It shows in the first bit that someone gathers.
"""

import torch
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from simmesh.museum import Exhibit, SameAsOneDevice


def local_view(x, rows, columns):
    ranks = x.device_mesh.size()
    piece = x.to_local().reshape(rows // ranks, columns)
    return DTensor.from_local(piece, x.device_mesh, [Shard(0)])


def view_of_the_whole(x, rows, columns):
    return x.redistribute(placements=[Replicate()]).view(rows, columns)


def run(mesh, view):
    x = distribute_tensor(torch.arange(96.0).view(12, 8), mesh, [Shard(1)])
    return view(x, 16, 6)


def wrong(mesh):
    return run(mesh, local_view)


def right(mesh):
    return run(mesh, view_of_the_whole)


EXHIBIT = Exhibit(
    title="The view that moved nothing",
    source="pytorch/pytorch #179502",
    date="2026-04-06",
    check=SameAsOneDevice(ranks=4),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
