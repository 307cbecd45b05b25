"""Some operators return several tensors: a norm gives its result, and the scale of each row for
later. With a distributed tensor goes a note: how it is cut, and what shape the whole has. PyTorch
made one note for all outputs of an operator. When the second output wrote its shape into the
note, the first one had that shape, too. The elements are right, and so was the note for a moment.
It shows where the note is read: here a mean divides by the number of elements that it says.
"""

import math

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, SameAsOneDevice


class Note:
    shape = None


class Cut:
    """A piece of a tensor that is cut along rows, and the note that tells of the whole."""

    def __init__(self, piece, note, mesh):
        self.piece, self.note, self.mesh = piece, note, mesh
        note.shape = (len(piece) * mesh.size(), *piece.shape[1:])

    def mean(self):
        total = self.piece.sum()
        dist.all_reduce(total, group=self.mesh.get_group())
        return total / math.prod(self.note.shape)


def norm(mesh, notes):
    torch.manual_seed(0)
    rows = torch.randn(4, 3).chunk(mesh.size())[mesh.get_local_rank()]
    scale = rows.square().mean(-1, keepdim=True).rsqrt()
    if mesh.size() == 1:
        return (rows * scale).mean()
    outputs = rows * scale, scale
    result, _ = [Cut(piece, note, mesh) for piece, note in zip(outputs, notes)]
    return result.mean()


def wrong(mesh):
    return norm(mesh, [Note()] * 2)


def right(mesh):
    return norm(mesh, [Note(), Note()])


EXHIBIT = Exhibit(
    title="One note for two outputs",
    source="pytorch/pytorch PR 115161",
    date="2023-12",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
