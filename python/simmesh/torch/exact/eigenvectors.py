"""Eigenvalues and singular values by Jacobi's rotations, in float64.

They read rounded elements of whole matrices. Each step turns pairs of rows in a fixed order, and a
pair is turned by its own elements alone, so it doesn't matter where a matrix lies or what is beside
it. Of the two signs that an eigenvector can have it gets the one that makes its largest element
positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.dispatch import in_mode
from simmesh.torch.exact.doubles import narrow, power_of_two_near
from simmesh.torch.exact.factorizations import batched, completed, product_of
from simmesh.torch.exact.tables import Operator

#: Sweeps over all pairs; the rotations converge quadratically, after about 10.
_SWEEPS_MAX = 60
#: A pair is orthogonal where its product is so small a part of the lengths.
_SMALL = 2.0**-53
#: A row is rounding errors where its length is so small a part of all rows'.
_NOTHING = 2.0**-50


def _rounds(count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """All pairs of numbers below ``count``, in rounds of pairs that have no number in common."""
    players = list(range(count + count % 2))
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = [
            (min(one, other), max(one, other))
            for one, other in zip(players[:half], reversed(players[half:]))
            if max(one, other) < count
        ]
        if pairs:
            yield torch.tensor([each[0] for each in pairs]), torch.tensor([e[1] for e in pairs])
        players = [players[0], players[-1], *players[1:-1]]


def _angles(
    one: torch.Tensor, other: torch.Tensor, mixed: torch.Tensor, turns: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine that make [[one, mixed], [mixed, other]] diagonal, and no turn elsewhere."""
    ratio = (other - one) / (2 * torch.where(turns, mixed, 1.0))
    slope = torch.where(ratio < 0, -1.0, 1.0) / (ratio.abs() + (ratio * ratio + 1).sqrt())
    slope = torch.where(turns, slope, 0.0)
    cosine = 1 / (slope * slope + 1).sqrt()
    return cosine, cosine * slope


def _turn(rows: torch.Tensor, p: torch.Tensor, q: torch.Tensor, cosine: torch.Tensor,
          sine: torch.Tensor) -> None:  # fmt: skip
    """Turns rows p and q of each matrix."""
    one, other = rows[:, p], rows[:, q]
    c, s = cosine[:, :, None], sine[:, :, None]
    rows[:, p], rows[:, q] = c * one - s * other, s * one + c * other


def _symmetric(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The eigenvalues of symmetric matrices, ascending, and the eigenvectors as columns."""
    given = matrix.clone()
    size = given.shape[-1]
    vectors = torch.eye(size, dtype=torch.float64).repeat(len(given), 1, 1)  # as rows
    for _ in range(_SWEEPS_MAX):
        turned = False
        for p, q in _rounds(size):
            one, other, mixed = given[:, p, p], given[:, q, q], given[:, p, q]
            turns = mixed.abs() > _SMALL * (one.abs() * other.abs()).sqrt()
            turned = turned or bool(turns.any())
            cosine, sine = _angles(one, other, mixed, turns)
            _turn(given, p, q, cosine, sine)
            _turn(given.mT, p, q, cosine, sine)
            given[:, p, q] = torch.where(turns, 0.0, given[:, p, q])
            given[:, q, p] = torch.where(turns, 0.0, given[:, q, p])
            _turn(vectors, p, q, cosine, sine)
        if not turned:
            break
    values, order = given.diagonal(dim1=-2, dim2=-1).sort(stable=True)
    vectors = vectors.gather(1, order[:, :, None].expand(vectors.shape))
    return values, (vectors * _signs(vectors)).mT


def _signs(rows: torch.Tensor) -> torch.Tensor:
    """The sign of the first of the largest elements of each row."""
    if rows.shape[-1] == 0:
        return torch.ones(*rows.shape[:-1], 1, dtype=torch.float64)
    largest = rows.abs().amax(-1, keepdim=True)
    place = (rows.abs() == largest).to(torch.int8).argmax(-1, keepdim=True)
    return torch.where(rows.gather(-1, place) < 0, -1.0, 1.0)


def _scales(matrix: torch.Tensor) -> torch.Tensor:
    return power_of_two_near(matrix.abs().amax((1, 2), keepdim=True))


@tables.exact("factorizations", "_linalg_eigh")
def _eigenvalues(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    values, vectors = func(*args, **options)
    if args[0].numel() == 0:
        return values, vectors
    lower = (args[1] if len(args) > 1 else options.get("UPLO", "L")).upper() == "L"
    half = batched(args[0]) if lower else batched(args[0].mT)
    matrix = half.tril() + half.tril(-1).mT
    scale = _scales(matrix)
    found, columns = _symmetric(matrix / scale)
    narrow((found * scale[:, :, 0]).reshape(values.shape), values)
    if vectors.numel():
        narrow(columns.reshape(vectors.shape).contiguous(), vectors)
    return values, vectors


def _orthogonal(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Turns the rows of matrices until they are orthogonal. Returns them and the turns."""
    given = rows.clone()
    nothing = _NOTHING * _along(rows, rows).sum(1, keepdim=True).sqrt()
    turns_made = torch.eye(rows.shape[1], dtype=torch.float64).repeat(len(rows), 1, 1)
    for _ in range(_SWEEPS_MAX):
        turned = False
        for p, q in _rounds(rows.shape[1]):
            first, second = given[:, p], given[:, q]
            one, other, mixed = (
                _along(first, first), _along(second, second), _along(first, second)
            )  # fmt: skip
            lengths = one.sqrt(), other.sqrt()
            turns = (mixed.abs() > _SMALL * lengths[0] * lengths[1]) & (
                torch.minimum(*lengths) > nothing
            )
            turned = turned or bool(turns.any())
            cosine, sine = _angles(one, other, mixed, turns)
            _turn(given, p, q, cosine, sine)
            _turn(turns_made, p, q, cosine, sine)
        if not turned:
            break
    return given, turns_made


def _along(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The products of rows, each rounded once."""
    shape = one.shape[:2]
    found = product_of(one.flatten(0, 1).unsqueeze(1), other.flatten(0, 1).unsqueeze(2))
    return found.reshape(shape)


@tables.exact("factorizations", "_linalg_svd")
def _singular_values(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """U, S and V' of A = U S V'. The columns of U have the signs of eigenvectors."""
    left, values, right = func(*args, **options)
    if values.numel() == 0:
        return left, values, right
    matrix = batched(args[0])
    scale = _scales(matrix)
    is_wide = matrix.shape[1] < matrix.shape[2]
    # The rows of what is turned are the fewer of A's rows and columns.
    rows, turns = _orthogonal(matrix / scale if is_wide else (matrix / scale).mT)
    lengths = _along(rows, rows).sqrt()
    lengths, order = lengths.sort(dim=-1, descending=True, stable=True)
    rows = rows.gather(1, order[:, :, None].expand(rows.shape))
    turns = turns.gather(1, order[:, :, None].expand(turns.shape))
    narrow((lengths * scale[:, :, 0]).reshape(values.shape), values)
    if left.numel() and right.numel():
        is_there = lengths > _NOTHING * (lengths * lengths).sum(1, keepdim=True).sqrt()
        divisors = torch.where(is_there, lengths, 1.0)[:, :, None]
        units = completed(rows / divisors, is_there, max(matrix.shape[1:]))
        u, v = (turns, units) if is_wide else (units, turns)
        count = min(len(u[0]), len(v[0]))
        signs = _signs(u)
        u = u * signs
        v = torch.cat([v[:, :count] * signs[:, :count], v[:, count:]], 1)
        narrow(u[:, : left.shape[-1]].mT.reshape(left.shape).contiguous(), left)
        narrow(v[:, : right.shape[-2]].reshape(right.shape).contiguous(), right)
    return left, values, right


@tables.exact("factorizations", "linalg_pinv.atol_rtol_tensor")
def _pseudoinverse(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """V S^-1 U', without the values that are no larger than the tolerances."""
    matrix = args[0]
    if matrix.numel() == 0:
        return func(*args, **options)
    rtol = options.get("rtol")
    default = max(matrix.shape[-2:]) * torch.finfo(matrix.dtype).eps

    def composed() -> torch.Tensor:
        if options.get("hermitian", False):
            values, left = torch.linalg.eigh(matrix)
            right = left.mH
        else:
            left, values, right = torch.linalg.svd(matrix, full_matrices=False)
        sizes = values.abs()
        largest = sizes.amax(-1, keepdim=True)
        atol = (
            torch.zeros_like(largest[..., 0]) if (given := options.get("atol")) is None else given
        )
        relative = torch.where(atol > 0, 0.0, default) if rtol is None else rtol
        bound = torch.maximum(atol.unsqueeze(-1), relative.unsqueeze(-1) * largest)
        inverse = torch.where(sizes > bound, values.reciprocal(), 0.0)
        return (right.mH * inverse.unsqueeze(-2)) @ left.mH

    return in_mode(composed)
