"""The layout of whole pieces that comes nearest to what the ranks have, and factors between the
two.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from simmesh.one_device.assembly import Piece
from simmesh.one_device.layout import Layout
from simmesh.one_device.search import candidates, orders
from simmesh.one_device.snapshot import Exact, differing


@dataclass(frozen=True)
class Nearest:
    """The layout of whole pieces that comes nearest, and where the ranks' tensors differ from it.

    ``expected`` and ``got`` are those of all ranks, one after the other, in float64; ``counts``
    has the number of elements of each rank. ``one`` has one device's elements, and ``whole`` those
    that the ranks have of them, in row-major order and in float64.
    """

    pieces: tuple[Piece, ...]
    differing: int
    rank: int
    index: tuple[int, ...]
    expected_first: float
    got_first: float
    expected: torch.Tensor
    got: torch.Tensor
    counts: tuple[int, ...]
    one: torch.Tensor
    whole: torch.Tensor

    @property
    def text(self) -> str:
        """The pieces as they are written."""
        return ", ".join(piece.text for piece in self.pieces)


def nearest(one: Exact, ranks: Sequence[Exact | None], layout: Layout) -> Nearest | None:
    """The layout of R and S that has the fewest elements that differ; None if no layout has the
    ranks' shapes.
    """
    choices = [candidates(size, one.elements.dim(), 0) for size in layout.sizes]
    best: Nearest | None = None
    for pieces in itertools.product(*choices):
        for order in orders(len(pieces), 0)[: 1 if _cuts(pieces) < 2 else None]:
            found = _against(one, ranks, layout, pieces, order)
            if found is not None and (best is None or _badness(found) < _badness(best)):
                best = found
    return best


def _cuts(pieces: Sequence[Piece]) -> int:
    return sum(piece.letter == "S" for piece in pieces)


def _badness(found: Nearest) -> tuple[float, float]:
    return float(found.differing), float((found.expected - found.got).abs().nan_to_num(0).sum())


def _against(
    one: Exact, ranks: Sequence[Exact | None], layout: Layout, pieces: tuple[Piece, ...],
    order: tuple[int, ...],
) -> Nearest | None:  # fmt: skip
    """Compares each rank's tensor with its piece of one device's."""
    numbers = _numbers(ranks, layout, pieces, order, one)
    if numbers is None:
        return None
    begins = _begins(ranks)
    places = torch.zeros(begins[-1], dtype=torch.int64)
    places[numbers] = torch.arange(len(numbers))
    expected, got, count, first = [], [], 0, None
    flat = one.elements.reshape(-1)
    for rank, each in enumerate(ranks):
        if each is None:
            continue
        place = tuple(
            0 if piece.letter == "R" else at for piece, at in zip(pieces, layout.coordinates(rank))
        )
        source = _first_with(ranks, layout, pieces, place)
        number = each.elements.numel()
        wanted = flat[places[begins[source] : begins[source] + number]]
        mine = each.elements.reshape(-1)
        differs = differing(mine, wanted)
        count += int(differs.sum())
        if first is None and bool(differs.any()):
            at = int(differs.nonzero()[0])
            where = int(places[begins[source] + at])
            first = (rank, where, float(wanted[at]), float(mine[at]))
        expected.append(wanted.to(torch.float64))
        got.append(mine.to(torch.float64))
    if first is None:
        return None
    places_of = torch.unravel_index(torch.tensor(first[1]), one.elements.shape)
    index = tuple(map(int, places_of))
    every = torch.cat(got)
    return Nearest(
        pieces, count, first[0], index, first[2], first[3], torch.cat(expected), every,
        tuple(0 if each is None else each.elements.numel() for each in ranks),
        flat.to(torch.float64), every[numbers],
    )  # fmt: skip


def _begins(ranks: Sequence[Exact | None]) -> list[int]:
    numbers = [0 if each is None else each.elements.numel() for each in ranks]
    return [0, *itertools.accumulate(numbers)]


def _first_with(
    ranks: Sequence[Exact | None], layout: Layout, pieces: Sequence[Piece],
    place: tuple[int, ...],
) -> int:  # fmt: skip
    """The first rank that has the piece at ``place``, where replicated dims count as 0."""
    for rank, each in enumerate(ranks):
        at = tuple(
            0 if piece.letter == "R" else where
            for piece, where in zip(pieces, layout.coordinates(rank))
        )
        if each is not None and at == place:
            return rank
    raise LookupError(place)


def _numbers(
    ranks: Sequence[Exact | None], layout: Layout, pieces: tuple[Piece, ...],
    order: tuple[int, ...], one: Exact,
) -> torch.Tensor | None:  # fmt: skip
    """For each element of the whole tensor its place in those of the ranks, one rank after the
    other; None if the whole has another shape than one device's.
    """
    begins = _begins(ranks)
    grid: dict[tuple[int, ...], torch.Tensor | None] = {}
    for rank, each in enumerate(ranks):
        numbers = None
        if each is not None:
            if each.elements.dtype != one.elements.dtype:
                return None
            count = each.elements.numel()
            numbers = torch.arange(begins[rank], begins[rank] + count).view(each.elements.shape)
        grid[layout.coordinates(rank)] = numbers
    remaining = list(range(len(pieces)))
    for dim in order:
        place = remaining.index(dim)
        lines: dict[tuple[int, ...], list[torch.Tensor]] = {}
        for coordinates in sorted(grid):
            rest = coordinates[:place] + coordinates[place + 1 :]
            numbers = grid[coordinates]
            lines.setdefault(rest, [])
            if numbers is not None:
                lines[rest].append(numbers)
        grid = {}
        for rest, parts in lines.items():
            if not parts:
                grid[rest] = None
                continue
            grid[rest] = _joined_numbers(parts, pieces[dim])
            if grid[rest] is None:
                return None
        remaining.remove(dim)
    whole = grid[()]
    if whole is None or whole.shape != one.elements.shape:
        return None
    return whole.reshape(-1)


def _joined_numbers(parts: list[torch.Tensor], piece: Piece) -> torch.Tensor | None:
    if piece.letter == "R":
        return parts[0] if all(each.shape == parts[0].shape for each in parts) else None
    if any(each.dim() <= piece.dim for each in parts):
        return None
    shapes = {each.shape[: piece.dim] + each.shape[piece.dim + 1 :] for each in parts}
    has_dim = all(piece.dim < each.dim() for each in parts)
    return torch.cat(parts, piece.dim) if has_dim and len(shapes) == 1 else None


def factor_of(found: Nearest, tolerance: float) -> float | None:
    """The number that all of the ranks' elements are times one device's, if there is one."""
    return factor_between(found.expected, found.got, tolerance)


def factors_of(found: Nearest, tolerance: float) -> list[float] | None:
    """For each rank, the number that its elements are times one device's, if there is one."""
    factors = []
    expected, got = found.expected.split(found.counts), found.got.split(found.counts)
    for one, other in zip(expected, got):
        factor = factor_between(one, other, tolerance)
        if factor is None:
            return None
        factors.append(factor)
    return factors


def factor_between(expected: torch.Tensor, got: torch.Tensor, tolerance: float) -> float | None:
    """The number that all elements of ``got`` are times the expected ones, if there is one."""
    if expected.numel() < 2 or not bool(expected.isfinite().all() and got.isfinite().all()):
        return None
    square = float((expected * expected).sum())
    if square == 0.0:
        return None
    factor = float((expected * got).sum()) / square
    largest = float(expected.abs().max()) * abs(factor)
    rest = float((got - factor * expected).abs().max())
    if largest == 0.0 or rest > tolerance * largest:
        return None
    return factor


#: Fewer elements could differ by one factor by chance.
_FEWEST = 16
#: A factor of fewer units in the last place may be one of a scale that was rounded itself.
_ROUNDED_SCALES = 3


def steady_factor(expected: torch.Tensor, got: torch.Tensor, ulp: float) -> float | None:
    """The number that all elements are times the expected ones but for one rounding of each of the
    two, if that isn't 1: elements that differ by rounding alone lie on both sides.
    """
    factor = factor_between(expected, got, 2 * ulp)
    if factor is None or expected.numel() < _FEWEST or abs(factor - 1) < _ROUNDED_SCALES * ulp:
        return None
    rest = (got - factor * expected).abs()
    return factor if bool((rest <= ulp * abs(factor) * expected.abs()).all()) else None
