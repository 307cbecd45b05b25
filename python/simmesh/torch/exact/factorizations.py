"""Factorizations of matrices, in float64: LAPACK's steps, each sum of which is rounded once.

A factorization reads rounded elements of a whole matrix, and its steps have a fixed order.
"""

from __future__ import annotations

from typing import Any

import torch

from simmesh._core.exact import product
from simmesh.torch.exact import tables
from simmesh.torch.exact.doubles import narrow, power_of_two_near, wide
from simmesh.torch.exact.tables import Operator


def product_of(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Products of a batch of matrices, each element of which is rounded once."""
    found = torch.empty(len(one), one.shape[1], other.shape[2], dtype=torch.float64)
    if found.numel():
        product(one.contiguous(), other.contiguous()).round_into(found)
    return found


def batched(matrix: torch.Tensor) -> torch.Tensor:
    return wide(matrix).reshape(-1, *matrix.shape[-2:]).clone()


def completed(rows: torch.Tensor, is_there: torch.Tensor, count: int) -> torch.Tensor:
    """Orthonormal rows of a basis of ``count`` dims: those that are there, which come first, and
    others that are orthogonal to them.
    """
    upper = torch.where(is_there[:, :, None], rows, 0.0).mT.clone()
    reflections = [_reflected(upper, k) for k in range(upper.shape[2])]
    basis = torch.eye(count, dtype=torch.float64).repeat(len(rows), 1, 1)
    for k, reflection in reversed(list(enumerate(reflections))):
        _reflect(basis, k, *reflection)
    basis = basis.mT.clone()
    basis[:, : rows.shape[1]] = torch.where(is_there[:, :, None], rows, basis[:, : rows.shape[1]])
    return basis


@tables.exact("factorizations", "linalg_qr")
def _qr(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Q and R by Householder's reflections, with LAPACK's signs."""
    result = func(*args, **options)
    if args[0].numel() == 0:
        return result
    upper = batched(args[0])
    reflections = [_reflected(upper, k) for k in range(min(upper.shape[1:]))]
    if (q := result[0]).numel():
        unit = torch.eye(q.shape[-2], q.shape[-1], dtype=torch.float64)
        turned = unit.expand(len(upper), *unit.shape).clone()
        for k, reflection in reversed(list(enumerate(reflections))):
            _reflect(turned, k, *reflection)
        narrow(turned.reshape(q.shape), q)
    r = result[1]
    narrow(upper[:, : r.shape[-2]].triu().reshape(r.shape).contiguous(), r)
    return result


def _reflected(matrix: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Makes the elements of a column below the diagonal zero; returns the vector and its factor."""
    column = matrix[:, k:, k].clone()
    scale = power_of_two_near(column.abs().amax(1, keepdim=True))
    column /= scale
    alpha = column[:, :1]
    length = product_of(column.unsqueeze(1), column.unsqueeze(2))[:, :, 0].sqrt()
    beta = torch.where(torch.signbit(alpha), length, -length)
    stays = (column[:, 1:] == 0).all(1, keepdim=True)
    beta = torch.where(stays, alpha, beta)
    factor = torch.where(stays, torch.zeros_like(beta), (beta - alpha) / beta)
    vector = torch.where(stays, torch.zeros_like(column), column / (alpha - beta))
    vector[:, 0] = 1.0
    _reflect(matrix[:, :, k + 1 :], k, vector, factor)
    matrix[:, k, k] = (beta * scale)[:, 0]
    matrix[:, k + 1 :, k] = 0.0
    return vector, factor


def _reflect(matrix: torch.Tensor, k: int, vector: torch.Tensor, factor: torch.Tensor) -> None:
    """Subtracts factor * vector * (vector' * matrix) from the rows from k on."""
    along = product_of(vector.unsqueeze(1), matrix[:, k:])
    matrix[:, k:] -= (factor * vector).unsqueeze(2) * along


@tables.exact("factorizations", "linalg_cholesky_ex")
def _cholesky(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The factor, column after column. The info of a matrix without one is the number of the first
    column whose square isn't above 0.
    """
    if options.get("check_errors", False):
        raise NotImplementedError("linalg_cholesky_ex gives its info and checks no errors")
    result, info = func(*args, **options)
    if result.numel() == 0:
        return result, info
    upper = options.get("upper", False)
    given = batched(args[0].mT if upper else args[0])
    found = torch.zeros_like(given)
    failed = torch.zeros(len(given), dtype=info.dtype)
    for j in range(given.shape[-1]):
        known = found[:, j:, :j], found[:, j : j + 1, :j]
        rest = given[:, j:, j] - product_of(known[0], known[1].mT)[:, :, 0]
        failed = torch.where((failed == 0) & ~(rest[:, 0] > 0), j + 1, failed)
        pivot = rest[:, :1].sqrt()
        found[:, j:, j] = rest / pivot
        found[:, j, j] = pivot[:, 0]
    narrow((found.mT if upper else found).reshape(result.shape).contiguous(), result)
    return result, info.copy_(failed.reshape(info.shape))


#: Terms of the series of exp for a matrix of norm 1/2: the next one is below 2^-80.
_TERMS = 18


@tables.exact("factorizations", "linalg_matrix_exp")
def _exponential(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The series for the matrix divided by a power of two, squared as often as that was halved."""
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    matrix = batched(args[0])
    norm = matrix.abs().amax((1, 2)) * matrix.shape[-1]
    halvings = (torch.frexp(norm)[1] + 1).clamp(min=0, max=1100)[:, None, None]
    matrix = torch.ldexp(torch.ldexp(matrix, -(halvings // 2)), -(halvings - halvings // 2))
    unit = torch.eye(matrix.shape[-1], dtype=torch.float64).expand(matrix.shape)
    found = unit.clone()
    for term in range(_TERMS, 0, -1):
        found = unit + product_of(matrix, found) / term
    for squaring in range(int(halvings.max())):
        found = torch.where(squaring < halvings, product_of(found, found), found)
    return narrow(found.reshape(result.shape), result)
