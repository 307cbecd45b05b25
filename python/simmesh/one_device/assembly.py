"""Whole tensors made of the pieces on the ranks of one or more mesh dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch.distributed.tensor.placement_types import _StridedShard

from simmesh.one_device.snapshot import Exact, Snapshot, same_bits

Grid = Mapping[tuple[int, ...], Optional[Exact]]


@dataclass(frozen=True)
class Piece:
    """A placement over one mesh dim: R, S(dim), P, or M for a part of a mean."""

    letter: str
    dim: int = 0

    @property
    def text(self) -> str:
        """The placement as it is written: "S(0)"."""
        return f"S({self.dim})" if self.letter == "S" else self.letter

    @property
    def is_partial(self) -> bool:
        """True for parts of a sum or mean."""
        return self.letter not in "RS"


REPLICATED = Piece("R")


def join(parts: Sequence[Exact | None], piece: Piece) -> Exact | None:
    """The whole of which ``parts`` are the pieces, in the order of the ranks; None if they don't
    fit together. Ranks that don't have the tensor are left out.
    """
    present = [each for each in parts if each is not None]
    if not present:
        return None
    if piece.letter == "R":
        first = present[0]
        return first if all(same_bits(first.elements, each.elements) for each in present) else None
    if piece.letter == "S":
        return joined_along(present, piece.dim)
    if len({(each.elements.shape, each.elements.dtype) for each in present}) > 1:
        return None
    return _reduced(present, piece.letter)


def joined_along(parts: Sequence[Exact], dim: int) -> Exact | None:
    """Parts one after the other along a dim; None if other dims differ."""
    dtype, shape = parts[0].elements.dtype, parts[0].elements.shape
    if dim >= len(shape) or any(
        each.elements.dtype != dtype or not _differ_in(each.elements.shape, shape, dim)
        for each in parts
    ):
        return None
    elements = torch.cat([each.elements for each in parts], dim)
    if all(each.values is None for each in parts):
        return Exact(elements)
    places, begin = [], 0
    for each in parts:
        count = each.elements.numel()
        places.append(torch.arange(begin, begin + count).view(each.elements.shape))
        begin += count
    first, *others = [each.all_values() for each in parts]
    return Exact(elements, first.joined(*others).taken(torch.cat(places, dim).reshape(-1)))


def _differ_in(one: torch.Size, other: torch.Size, dim: int) -> bool:
    same_rest = one[:dim] == other[:dim] and one[dim + 1 :] == other[dim + 1 :]
    return len(one) == len(other) and same_rest


def _reduced(parts: Sequence[Exact], letter: str) -> Exact | None:
    """The sum (P), mean (M), maximum, minimum or 2-norm of parts."""
    elements = [each.elements for each in parts]
    if letter in ("max", "min"):
        stacked = torch.stack(elements)
        return Exact(stacked.amax(0) if letter == "max" else stacked.amin(0))
    if not elements[0].is_floating_point():
        if letter != "P" or elements[0].dtype == torch.bool:
            return None
        return Exact(torch.stack(elements).sum(0).to(elements[0].dtype))
    values = [each.all_values() for each in parts]
    if letter == "norm":
        values = [_squared(each) for each in values]
    total = values[0]
    for each in values[1:]:
        total = total.plus(each)
    if letter == "norm":
        total = total.root()
    return rounded(total.scaled(1.0 / len(parts)) if letter == "M" else total, elements[0])


def _squared(values: Any) -> Any:
    return values.square() if values.is_root else values.times(values)


def rounded(values: Any, like: torch.Tensor) -> Exact:
    """Exact values as a tensor of the dtype and shape of another."""
    elements = torch.empty(like.shape, dtype=like.dtype)
    values.round_into(elements)
    return Exact(elements, values)


def scaled(exact: Exact, factor: float) -> Exact:
    """A tensor times a number, rounded once."""
    return rounded(exact.all_values().scaled(factor), exact.elements)


def fold(grid: Grid, place: int, piece: Piece) -> dict[tuple[int, ...], Exact | None] | None:
    """The grid without dim ``place``, whose ranks are joined; None if some don't fit together."""
    lines: dict[tuple[int, ...], list[tuple[int, Exact | None]]] = {}
    for coordinates, each in grid.items():
        rest = coordinates[:place] + coordinates[place + 1 :]
        lines.setdefault(rest, []).append((coordinates[place], each))
    folded: dict[tuple[int, ...], Exact | None] = {}
    for rest, line in lines.items():
        parts = [each for _, each in sorted(line, key=lambda item: item[0])]
        folded[rest] = join(parts, piece)
        if folded[rest] is None and any(each is not None for each in parts):
            return None
    return folded


class NotJudged(Exception):
    """A declared placement whose whole tensor can't be computed exactly."""


def pieces_of(placements: Sequence[Any]) -> list[Piece]:
    """The pieces that placements of a DTensor declare. Raises NotJudged for a kind of partial
    placement that is no sum, mean, maximum, minimum or 2-norm.
    """
    found = []
    for each in placements:
        if each.is_partial():
            found.append(Piece(_letter_of_partial(each)))
        elif hasattr(each, "dim"):
            found.append(Piece("S", each.dim))
        else:
            found.append(REPLICATED)
    return found


def _letter_of_partial(placement: Any) -> str:
    if type(placement).__name__ == "_NormPartial":
        norm = placement.norm_type
        if norm in (float("inf"), "inf"):
            return "max"
        if norm in (2, 2.0):
            return "norm"
        raise NotJudged(f"parts of a {norm}-norm")
    letters = {"sum": "P", "avg": "M", "max": "max", "min": "min"}
    if placement.reduce_op not in letters:
        raise NotJudged(f"parts of a {placement.reduce_op}")
    return letters[placement.reduce_op]


def whole_of_declared(snapshots: Sequence[Snapshot | None]) -> list[Exact | None]:
    """Each rank's tensor, made whole over the mesh of its DTensor where it is one."""
    wholes: list[Exact | None] = [None if each is None else each.exact for each in snapshots]
    for rank, snapshot in enumerate(snapshots):
        if snapshot is None or snapshot.declared is None:
            continue
        ranks = snapshot.declared.ranks
        if rank != int(ranks.reshape(-1)[0]):
            continue
        grid = {
            tuple(map(int, place)): _exact_of(snapshots, int(ranks[tuple(place)]))
            for place in torch.cartesian_prod(*map(torch.arange, ranks.shape)).reshape(
                -1, ranks.dim()
            )
        }
        whole = _folded(grid, snapshot.declared.placements)
        for each in ranks.reshape(-1).tolist():
            wholes[each] = whole
    return wholes


def _exact_of(snapshots: Sequence[Snapshot | None], rank: int) -> Exact | None:
    snapshot = snapshots[rank] if rank < len(snapshots) else None
    return None if snapshot is None else snapshot.exact


def _folded(grid: Grid, placements: Sequence[Any]) -> Exact | None:
    """The whole tensor of a mesh. A strided shard was cut after the dims behind it."""
    pieces = pieces_of(placements)
    order = sorted(
        range(len(pieces)), key=lambda dim: (type(placements[dim]) is not _StridedShard, -dim)
    )
    remaining = list(range(len(pieces)))
    for dim in order:
        place = remaining.index(dim)
        folded = fold(grid, place, pieces[dim])
        if folded is None:
            return None
        grid = folded
        remaining.remove(dim)
    return grid[()]
