"""Finds from the bits how a tensor of one device lies on the ranks of a layout."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from simmesh.one_device.assembly import REPLICATED, Grid, Piece, fold, rounded, scaled
from simmesh.one_device.layout import Layout
from simmesh.one_device.snapshot import Exact, differing


@dataclass(frozen=True)
class Found:
    """The layout of a tensor: a piece for each mesh dim, in the order of the mesh.

    The ranks' tensor is ``scale`` times one device's. ``is_reordered`` says that its slices are
    one device's in another order.
    """

    pieces: tuple[Piece, ...]
    scale: float = 1.0
    is_reordered: bool = False

    @property
    def text(self) -> str:
        """The pieces as they are written: "S(0), R"."""
        return ", ".join(piece.text for piece in self.pieces)

    def dims_with(self, letter: str, layout: Layout) -> list[str]:
        """The names of the mesh dims that have a kind of piece."""
        named = zip(layout.names, self.pieces)
        return [name for name, piece in named if piece.letter == letter]


@dataclass(frozen=True)
class Allowed:
    """The forms that are asked for: parts of sums, scales, slices in another order.

    ``tolerance`` is the largest difference, as a part of the largest element; 0 asks for bits.
    A difference of at most ``floor`` is allowed with a tolerance too.
    Parts of a sum that are the same on each rank are a whole with a wrong factor, unless
    ``equal_parts`` are allowed.
    """

    pending: bool = True
    scale: bool = False
    reordered: bool = False
    tolerance: float = 0.0
    floor: float = 0.0
    equal_parts: bool = False


def find(
    one: Exact, ranks: Sequence[Exact | None], layout: Layout, allowed: Allowed
) -> Found | None:
    """The layout in which the ranks' tensors are one device's, bit for bit, with the fewest parts
    of sums; None if there is none.
    """
    grid: Grid = {layout.coordinates(rank): each for rank, each in enumerate(ranks)}
    dims = len(layout.sizes)
    for pending in range(dims + 1 if allowed.pending else 1):
        for order in orders(dims, pending):
            for pieces, whole in _folds(
                grid, order, layout.sizes, one, pending, allowed.equal_parts
            ):
                scale = _scale(one, whole, layout, allowed)
                if scale is not None:
                    return Found(pieces, scale)
    if allowed.reordered:
        for pieces, whole in _folds(
            grid, tuple(reversed(range(dims))), layout.sizes, one, 0, False
        ):
            cut = dict.fromkeys(each.dim for each in pieces if each.letter == "S")
            for factor in _factors(one, layout, allowed):
                scaled_whole = whole if factor == 1 else scaled(whole, 1.0 / factor)
                for dim in cut or (0,):
                    if _is_reordered(one.elements, scaled_whole.elements, dim, allowed):
                        return Found(pieces, float(factor), is_reordered=True)
    return None


def orders(dims: int, pending: int) -> list[tuple[int, ...]]:
    """Orders in which mesh dims are joined: the innermost first, and for tensors that are cut
    twice also the others, as FSDP2 cuts what TP has cut.
    """
    inner_first = tuple(reversed(range(dims)))
    if pending > 0:
        return [inner_first]
    return [inner_first, *(each for each in itertools.permutations(range(dims))
                           if each != inner_first)]  # fmt: skip


def _folds(
    grid: Grid,
    order: tuple[int, ...],
    sizes: Sequence[int],
    one: Exact,
    pending: int,
    equal_parts: bool,
) -> Iterator[tuple[tuple[Piece, ...], Exact]]:
    """All ways to join the ranks' tensors to one of the shape of one device's, with exactly
    ``pending`` dims of parts.
    """
    every = tuple(range(len(sizes)))

    def join_next(
        left: Grid, remaining: tuple[int, ...], rest: tuple[int, ...], chosen: dict[int, Piece],
        budget: int,
    ) -> Iterator[tuple[tuple[Piece, ...], Exact]]:  # fmt: skip
        if not rest:
            whole = left[()]
            if budget == 0 and whole is not None and _fits(whole, one):
                yield tuple(chosen[dim] for dim in range(len(sizes))), whole
            return
        dim = rest[0]
        place = remaining.index(dim)
        others = remaining[:place] + remaining[place + 1 :]
        is_same = (
            budget > 0 and not equal_parts and fold(_fine(left), place, REPLICATED) is not None
        )
        for piece in candidates(sizes[dim], one.elements.dim(), 0 if is_same else budget):
            folded = fold(left, place, piece)
            if folded is not None:
                cost = 1 if piece.is_partial else 0
                yield from join_next(
                    folded, others, rest[1:], {**chosen, dim: piece}, budget - cost
                )

    yield from join_next(grid, every, order, {}, pending)


def _fine(grid: Grid) -> Grid:
    """The exact values in float64, since other parts of a sum may look alike in a coarse dtype."""
    return {place: None if each is None else _in_float64(each) for place, each in grid.items()}


def _in_float64(exact: Exact) -> Exact:
    if exact.values is None or not exact.elements.is_floating_point():
        return exact
    return Exact(rounded(exact.values, exact.elements.to(torch.float64)).elements)


def candidates(size: int, dims: int, budget: int) -> list[Piece]:
    """The pieces that a mesh dim can have; parts of sums if a ``budget`` is left for them."""
    if size == 1:
        return [REPLICATED]
    wholes = [REPLICATED, *(Piece("S", dim) for dim in range(dims))]
    return [*wholes, Piece("P"), Piece("M")] if budget > 0 else wholes


def _fits(whole: Exact, one: Exact) -> bool:
    got, expected = whole.elements, one.elements
    return got.shape == expected.shape and got.dtype == expected.dtype


def _scale(one: Exact, whole: Exact, layout: Layout, allowed: Allowed) -> float | None:
    """The factor of the ranks' tensor, if that is all that differs. Products of the sizes of mesh
    dims are tried, which gradients of local means have.
    """
    for factor in _factors(one, layout, allowed):
        scaled_whole = whole if factor == 1 else scaled(whole, 1.0 / factor)
        if _agree(scaled_whole.elements, one.elements, allowed):
            return float(factor)
    return None


def _factors(one: Exact, layout: Layout, allowed: Allowed) -> list[int]:
    """The factors that are tried: 1, and others where scales are allowed."""
    tries = allowed.scale and one.elements.is_floating_point()
    return [1, *scales_of(layout)] if tries else [1]


def _agree(got: torch.Tensor, expected: torch.Tensor, allowed: Allowed) -> bool:
    if not bool(differing(got, expected).any()):
        return True
    if allowed.tolerance == 0.0 or not expected.is_floating_point():
        return False
    exact, other = expected.to(torch.float64), got.to(torch.float64)
    is_finite = exact.isfinite() & other.isfinite()
    if bool(differing(got, expected)[~is_finite].any()):
        return False  # rounding makes no infinity and no NaN
    far = (exact - other)[is_finite].abs()
    return not far.numel() or bool(far.max() <= _bound(exact, allowed))


def _bound(exact: torch.Tensor, allowed: Allowed) -> float:
    """The largest difference that is allowed."""
    finite = exact[exact.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    return max(allowed.tolerance * largest, allowed.floor)


def scales_of(layout: Layout) -> list[int]:
    """The products of sizes of a layout's dims, but for 1."""
    products = {1}
    for size in layout.sizes:
        products |= {product * size for product in products}
    return sorted(products - {1})


def _is_reordered(one: torch.Tensor, whole: torch.Tensor, dim: int, allowed: Allowed) -> bool:
    """True if the slices of two tensors along a dim are the same, in another order."""
    if one.dim() == 0 or one.shape[dim] < 2:
        return False
    here, there = (each.movedim(dim, 0).flatten(1) for each in (_plain(one), _plain(whole)))
    if sorted(map(tuple, here.tolist())) == sorted(map(tuple, there.tolist())):
        return True
    if allowed.tolerance == 0.0 or here.shape[0] * here.numel() > _SLICES_MAX:
        return False
    far = (here[:, None] - there[None]).abs().amax(-1)
    return bool(torch.maximum(far.amin(0), far.amin(1)).max() <= _bound(here, allowed))


# The most differences between elements of slices that are computed to find their order.
_SLICES_MAX = 1 << 24


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.unsqueeze(-1).to(torch.float64 if tensor.is_floating_point() else torch.int64)
