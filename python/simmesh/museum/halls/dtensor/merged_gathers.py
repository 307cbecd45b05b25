"""A tensor that is cut along two mesh dims is gathered in two steps, one for each dim. If the
dims can be flattened into one, one all-gather over all ranks does the same with fewer messages.
PyTorch merged the two gathers so. With pieces of equal size the elements come out in order. With
uneven pieces each step pads its own pieces, and the merged one pads only once. Rows of one rank
then stand where another one's belong, or padding stands there. It shows in the gathered tensor,
for sizes that ranks don't divide.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F

from simmesh.museum import Exhibit, SameAsOneDevice

ROWS = 5


def gathered(piece, rows, mesh):
    """Pads pieces to one size, gathers them, and takes off the padding: as one dim is cut."""
    each = -(-rows // mesh.size())
    padded = F.pad(piece, (0, each - len(piece)))
    parts = [torch.empty_like(padded) for _ in range(mesh.size())]
    dist.all_gather(parts, padded, group=mesh.get_group())
    sizes = [len(part) for part in torch.arange(rows).chunk(mesh.size())]
    sizes += [0] * (mesh.size() - len(sizes))
    return torch.cat([part[:size] for part, size in zip(parts, sizes)])


def in_one_step(piece, half, mesh):
    return gathered(piece, ROWS, mesh._flatten("all") if mesh.size() > 1 else mesh["dp"])


def in_two_steps(piece, half, mesh):
    return gathered(gathered(piece, len(half), mesh["tp"]), ROWS, mesh["dp"])


def run(mesh, gather):
    half = torch.arange(float(ROWS)).chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    pieces = half.chunk(mesh["tp"].size())
    mine = mesh["tp"].get_local_rank()
    return gather(pieces[mine] if mine < len(pieces) else half[:0], half, mesh)


def wrong(mesh):
    return run(mesh, in_one_step)


def right(mesh):
    return run(mesh, in_two_steps)


EXHIBIT = Exhibit(
    title="Two gathers merged into one",
    source="pytorch/pytorch PR 194457",
    date="2026-08",
    check=SameAsOneDevice(layouts=[{"dp": 2, "tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
