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
    """A placement over one mesh dim: R, S(dim), P, or M for a part of a mean.

    A shard of ``blocks`` has a piece of each of so many equal blocks that follow one another along
    the dim, as packed weights of tensor parallelism do.
    """

    letter: str
    dim: int = 0
    blocks: int = 1

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
        return joined_along(present, piece.dim, piece.blocks)
    if len({(each.elements.shape, each.elements.dtype) for each in present}) > 1:
        return None
    return _reduced(present, piece.letter)


def joined_along(parts: Sequence[Exact], dim: int, blocks: int = 1) -> Exact | None:
    """Parts one after the other along a dim, in each of its blocks; None if other dims differ."""
    dtype, shape = parts[0].elements.dtype, parts[0].elements.shape
    if dim >= len(shape) or any(
        each.elements.dtype != dtype or not _differ_in(each.elements.shape, shape, dim)
        for each in parts
    ):
        return None
    elements = _in_blocks([each.elements for each in parts], dim, blocks)
    if elements is None or all(each.values is None for each in parts):
        return None if elements is None else Exact(elements)
    numbers, begin = [], 0
    for each in parts:
        count = each.elements.numel()
        numbers.append(torch.arange(begin, begin + count).view(each.elements.shape))
        begin += count
    first, *others = [each.all_values() for each in parts]
    places = _in_blocks(numbers, dim, blocks)
    assert places is not None
    return Exact(elements, first.joined(*others).taken(places.reshape(-1)))


def _in_blocks(parts: Sequence[torch.Tensor], dim: int, blocks: int) -> torch.Tensor | None:
    """The tensor of which each part has a piece of every block; None if the sizes don't fit."""
    joined = torch.cat(list(parts), dim)
    if blocks == 1:
        return joined
    pieces = [block.chunk(len(parts)) for block in torch.arange(joined.shape[dim]).chunk(blocks)]
    of_parts = [
        torch.cat([block[part] for block in pieces if part < len(block)] or [pieces[0][0][:0]])
        for part in range(len(parts))
    ]
    if [len(each) for each in of_parts] != [part.shape[dim] for part in parts]:
        return None
    return joined.index_select(dim, torch.cat(of_parts).argsort())


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


def pieces_of(placements: Sequence[Any], sizes: Sequence[int], dims: int) -> list[Piece]:
    """The pieces that placements of a DTensor declare, over mesh dims of these sizes, for a tensor
    of ``dims`` dims. Raises NotJudged for a kind of partial placement that is no sum, mean,
    maximum, minimum or 2-norm.
    """
    found = []
    for place, each in enumerate(placements):
        if each.is_partial():
            found.append(Piece(_letter_of_partial(each)))
        elif hasattr(each, "dim"):
            blocks = _blocks_of(place, placements, sizes)
            found.append(Piece("S", each.dim % max(dims, 1), blocks))
        else:
            found.append(REPLICATED)
    return found


def _blocks_of(place: int, placements: Sequence[Any], sizes: Sequence[int]) -> int:
    """The blocks of a shard that no mesh dim behind it makes: strided shards are cut after the
    shards of the same tensor dim behind them, whose number is a part of the split factor.
    """
    placement = placements[place]
    if type(placement) is not _StridedShard:
        return 1
    behind = 1
    for other, size in zip(placements[place + 1 :], sizes[place + 1 :]):
        if getattr(other, "dim", None) == placement.dim:
            behind *= size
    if placement.split_factor % behind:
        raise NotJudged(f"a strided shard of {placement.split_factor} blocks")
    return int(placement.split_factor) // behind


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
    """Each rank's tensor, made whole over the ranks that a DTensor or a flat parameter names."""
    wholes: list[Exact | None] = [None if each is None else each.exact for each in snapshots]
    for rank, snapshot in enumerate(snapshots):
        if snapshot is None or snapshot.declared is None:
            continue
        ranks = snapshot.declared.ranks
        members = ranks.reshape(-1).tolist()
        present = (each for each in members if _exact_of(snapshots, each) is not None)
        if rank != next(present, None):
            continue  # made whole with the first of them
        grid = {
            tuple(map(int, place)): _exact_of(snapshots, int(ranks[tuple(place)]))
            for place in torch.cartesian_prod(*map(torch.arange, ranks.shape)).reshape(
                -1, ranks.dim()
            )
        }
        placements = snapshot.declared.placements
        whole = _folded(grid, placements, pieces_of(placements, ranks.shape, _dims(snapshot)))
        if snapshot.declared.is_flat:
            whole = _reshaped(whole, snapshot.declared.shape)
        for each in members:
            wholes[each] = whole
    return wholes


def _exact_of(snapshots: Sequence[Snapshot | None], rank: int) -> Exact | None:
    snapshot = snapshots[rank] if rank < len(snapshots) else None
    return None if snapshot is None else snapshot.exact


def _reshaped(flat: Exact | None, shape: torch.Size) -> Exact | None:
    """A flat tensor in its shape; None if it has another number of elements."""
    if flat is None or flat.elements.numel() != shape.numel():
        return None
    return Exact(flat.elements.reshape(shape), flat.values)


def _dims(snapshot: Snapshot) -> int:
    return snapshot.exact.elements.dim()


def _folded(grid: Grid, placements: Sequence[Any], pieces: Sequence[Piece]) -> Exact | None:
    """The whole tensor of a mesh. A strided shard was cut after the dims behind it, so it is
    joined before them.
    """
    strided = [dim for dim, each in enumerate(placements) if type(each) is _StridedShard]
    others = [dim for dim in range(len(pieces)) if dim not in strided]
    order = [*strided, *reversed(others)]
    remaining = list(range(len(pieces)))
    for dim in order:
        place = remaining.index(dim)
        folded = fold(grid, place, pieces[dim])
        if folded is None:
            return None
        grid = folded
        remaining.remove(dim)
    return grid[()]
