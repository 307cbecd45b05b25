"""Two mesh dims may cut one dim of a tensor: first into halves, then each half into quarters. The
other order is possible too, and PyTorch has a name for it, the strided shard. A product of
matrices may be computed piece by piece, if both operands are cut alike along the inner dim.
PyTorch's rule compared which dims are cut, and not in which order. So rank 1 multiplied the
second quarter of one matrix with the third one of the other. The report has two products that
should be equal; the rule accepted both and moved nothing. It shows in the product.
"""

import torch
from torch.distributed.tensor import DTensor, Partial

from simmesh.museum import Exhibit, SameAsOneDevice


def quarter(matrix, dim, mesh, order):
    """This rank's piece, cut over the mesh dims in an order: the first one is the outer."""
    for name in order:
        matrix = matrix.chunk(mesh[name].size(), dim)[mesh[name].get_local_rank()]
    return matrix


def multiply(mesh, order):
    left, right = torch.arange(16.0).view(4, 4), torch.arange(16.0).view(4, 4) + 1
    part = quarter(left, 1, mesh, ("dp", "tp")) @ quarter(right, 0, mesh, order)
    return DTensor.from_local(part, mesh, [Partial(), Partial()])


def wrong(mesh):
    return multiply(mesh, ("tp", "dp"))


def right(mesh):
    return multiply(mesh, ("dp", "tp"))


EXHIBIT = Exhibit(
    title="The second quarter meets the third",
    source="pytorch/pytorch #166598",
    date="2025-10-30",
    check=SameAsOneDevice(layouts=[{"dp": 2, "tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
