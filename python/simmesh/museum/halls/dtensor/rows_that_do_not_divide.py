"""A reduce-scatter adds up over ranks and gives each one its rows of the sum. Five rows on two
ranks: three for one, two for the other. A form of it in PyTorch 2.15 gives each rank five divided
by two, rounded down: two rows. The fifth row is added up by nobody and belongs to nobody. No
error, no warning. It was found by simmesh's check of PyTorch's own rules. It shows in the shape
of what is put together again.
"""

import torch
import torch.distributed as dist

import simmesh
from simmesh.museum import Exhibit, SameAsOneDevice


def rounded_down(x, mesh):
    rows = len(x) // mesh.size()
    mine = torch.empty(rows, x.shape[1])
    dist.reduce_scatter_tensor(mine, x[: rows * mesh.size()], group=mesh.get_group())
    return mine


def each_its_rows(x, mesh):
    dist.all_reduce(x, group=mesh.get_group())
    return x[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), len(x))]


def run(mesh, reduce_scatter):
    terms = torch.arange(10.0).view(5, 2) / mesh.size()
    return reduce_scatter(terms, mesh)


def wrong(mesh):
    return run(mesh, rounded_down)


def right(mesh):
    return run(mesh, each_its_rows)


EXHIBIT = Exhibit(
    title="The row that belonged to nobody",
    source="pytorch 2.15.0, reduce_scatter_ of uneven rows",
    date="2026-11",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
