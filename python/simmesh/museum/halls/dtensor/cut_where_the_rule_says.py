"""A program may build a distributed tensor from pieces that it has: ``DTensor.from_local``.
DTensor takes it that pieces are as its own rule would cut them: equal ones, and the last ones
smaller. A program with pieces of 2, 3, 4 and 5 columns may say the whole shape, and no one
objects. To join them, each piece is padded or cut to the rule's width. Here the two pieces have 1
and 3 columns. Columns get lost, and zeros take their place. Reported in January 2025; in 2026 a
check was proposed that refuses such pieces. It shows as soon as the whole is put together.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F

from simmesh.museum import Exhibit, SameAsOneDevice


def joined(piece, columns, mesh):
    """Gathers pieces whose widths are taken to be the rule's."""
    width = -(-columns // mesh.size())
    padded = F.pad(piece, (0, width - piece.shape[1])).contiguous()
    parts = [torch.empty_like(padded) for _ in range(mesh.size())]
    dist.all_gather(parts, padded, group=mesh.get_group())
    return torch.cat(parts, 1)[:, :columns]


def run(mesh, widths):
    whole = torch.arange(8.0).view(2, 4)
    pieces = whole.split(widths, 1) if mesh.size() > 1 else [whole]
    return joined(pieces[mesh.get_local_rank()], 4, mesh)


def wrong(mesh):
    return run(mesh, [1, 3])


def right(mesh):
    return run(mesh, [2, 2])


EXHIBIT = Exhibit(
    title="Cut where the rule says",
    source="pytorch/pytorch #144109",
    date="2025-01-02",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
