"""Factorizations by Gauss, and what follows from them: inverses, solutions and determinants.

They read rounded elements of whole matrices. The steps are in float64, in a fixed order, and each
sum of products is rounded once, so it doesn't matter where a matrix lies or what is beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.doubles import function, narrow
from simmesh.torch.exact.factorizations import batched, product_of
from simmesh.torch.exact.sums import exact_sum
from simmesh.torch.exact.tables import Operator
from simmesh.torch.exact.triangular import substituted


@dataclass(frozen=True)
class _Factors:
    """P A = L U for each of a batch. ``packed`` has U, and L below its diagonal. ``pivots`` are the
    rows that were exchanged in each step, ``order`` the rows of A in the order of L's. ``info`` is
    the number of the first pivot that is 0, or 0.
    """

    packed: torch.Tensor
    pivots: torch.Tensor
    order: torch.Tensor
    info: torch.Tensor

    @property
    def lower(self) -> torch.Tensor:
        count = min(self.packed.shape[-2:])
        lower = self.packed[..., :count].tril(-1)
        return lower + torch.eye(*lower.shape[-2:], dtype=torch.float64)

    @property
    def upper(self) -> torch.Tensor:
        return self.packed[..., : min(self.packed.shape[-2:]), :].triu()


def _factorized(matrix: torch.Tensor, is_pivoted: bool = True) -> _Factors:
    """The factors of a batch of float64 matrices, column after column."""
    packed = matrix.clone()
    count, rows = len(packed), packed.shape[1]
    steps = min(packed.shape[1:])
    each = torch.arange(count)
    order = torch.arange(rows).repeat(count, 1)
    pivots = torch.arange(steps).repeat(count, 1)
    info = torch.zeros(count, dtype=torch.int32)
    for k in range(steps):
        if k:
            packed[:, k:, k] -= product_of(packed[:, k:, :k], packed[:, :k, k : k + 1])[:, :, 0]
        if is_pivoted:
            pivots[:, k] = k + packed[:, k:, k].abs().argmax(1)
            for values in (packed, order):
                lower = values[each, pivots[:, k]]
                values[each, pivots[:, k]] = values[:, k].clone()
                values[:, k] = lower
        if k and k + 1 < packed.shape[2]:
            known = product_of(packed[:, k : k + 1, :k], packed[:, :k, k + 1 :])
            packed[:, k, k + 1 :] -= known[:, 0]
        pivot = packed[:, k, k]
        info = torch.where((info == 0) & (pivot == 0), k + 1, info)
        divisor = torch.where(pivot == 0, 1.0, pivot)
        packed[:, k + 1 :, k] /= divisor[:, None]
    return _Factors(packed, pivots, order, info)


def _write(factors: _Factors, packed: torch.Tensor, pivots: torch.Tensor) -> None:
    if packed.numel():
        narrow(factors.packed.reshape(packed.shape), packed)
    pivots.copy_((factors.pivots + 1).reshape(pivots.shape))


def _factorized_as_torch(matrix: torch.Tensor) -> _Factors:
    """The factors that torch keeps with a determinant: those of A' where A is contiguous."""
    return _factorized(batched(matrix.mT if matrix.is_contiguous() else matrix))


def _with_right(factors: _Factors, right: torch.Tensor) -> torch.Tensor:
    """The solutions of A X = B."""
    permuted = right.gather(1, factors.order[:, :, None].expand(right.shape))
    found = substituted(factors.lower, permuted, True)
    return substituted(factors.upper.flip(-2, -1), found.flip(-2), False).flip(-2)


@tables.exact("factorizations", "linalg_lu_factor_ex")
def _lu_factor(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if args[0].numel():
        factors = _factorized(batched(args[0]), options.get("pivot", True))
        _write(factors, result[0], result[1])
        result[2].copy_(factors.info.reshape(result[2].shape))
    return result


@tables.exact("factorizations", "linalg_lu")
def _lu(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if args[0].numel():
        factors = _factorized(batched(args[0]), options.get("pivot", True))
        if result[0].numel():
            rows = torch.eye(factors.order.shape[1], dtype=torch.float64)
            result[0].copy_(rows[factors.order].mT.reshape(result[0].shape))
        for into, found in ((result[1], factors.lower), (result[2], factors.upper)):
            narrow(found.reshape(into.shape).contiguous(), into)
    return result


@tables.exact("factorizations", "lu_unpack")
def _lu_unpacked(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Moves rounded elements."""
    return func(*args, **options)


@tables.exact("factorizations", "linalg_lu_solve")
def _lu_solved(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The solution with factors that are there already."""
    left, adjoint = options.get("left", True), options.get("adjoint", False)
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    sizes = torch.broadcast_shapes(args[0].shape[:-2], args[2].shape[:-2])
    packed = batched(args[0].expand(*sizes, *args[0].shape[-2:]))
    pivots = args[1].expand(*sizes, args[1].shape[-1]).reshape(len(packed), -1).long() - 1
    right = args[2].expand(*sizes, *args[2].shape[-2:])
    order = torch.arange(packed.shape[1]).repeat(len(packed), 1)
    each = torch.arange(len(packed))
    for k in range(pivots.shape[1]):
        lower = order[each, pivots[:, k]]
        order[each, pivots[:, k]] = order[:, k].clone()
        order[:, k] = lower
    factors = _Factors(packed, pivots, order, torch.zeros(len(packed)))
    given = batched(right if left else right.mT)
    found = _transposed_with_right(factors, given) if adjoint == left else (
        _with_right(factors, given)
    )  # fmt: skip
    found = (found if left else found.mT).reshape(result.shape)
    return narrow(found.contiguous(), result)


def _transposed_with_right(factors: _Factors, right: torch.Tensor) -> torch.Tensor:
    """The solutions of A' X = B."""
    found = substituted(factors.upper.mT, right, False)
    found = substituted(factors.lower.mT.flip(-2, -1), found.flip(-2), True).flip(-2)
    place = factors.order.argsort(1)
    return found.gather(1, place[:, :, None].expand(found.shape))


@tables.exact("factorizations", "linalg_inv_ex")
def _inverse(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    _checks_nothing(func, options)
    result, info = func(*args, **options)
    if result.numel():
        matrix = batched(args[0])
        factors = _factorized(matrix)
        unit = torch.eye(matrix.shape[1], dtype=torch.float64).expand(matrix.shape)
        narrow(_with_right(factors, unit).reshape(result.shape).contiguous(), result)
        info.copy_(factors.info.reshape(info.shape))
    return result, info


@tables.exact("factorizations", "_linalg_solve_ex")
def _solved(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The solution of A X = B, or of X A = B, and the factors."""
    _checks_nothing(func, options)
    left = options.get("left", True)
    found = func(*args, **options)
    result, packed, pivots, info = found
    matrix, right = args[:2]
    if matrix.numel() == 0:
        return found
    factors = _factorized(batched(matrix))
    _write(factors, packed, pivots)
    info.copy_(factors.info.reshape(info.shape))
    if result.numel() == 0:
        return found
    is_vector = result.dim() == matrix.dim() - 1
    if is_vector:
        right = right.unsqueeze(-1)
    sizes = result.shape[:-1] if is_vector else result.shape[:-2]
    many = matrix.expand(*sizes, *matrix.shape[-2:])
    factors = factors if many.shape == matrix.shape else _factorized(batched(many))
    right = right.expand(*sizes, *right.shape[-2:])
    if left:
        solution = _with_right(factors, batched(right))
    else:
        solution = _transposed_with_right(factors, batched(right.mT)).mT
    narrow(solution.reshape(result.shape).contiguous(), result)
    return found


@tables.exact("factorizations", "_linalg_det")
def _determinant(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    found = func(*args, **options)
    if args[0].numel():
        factors = _factorized(batched(args[0]))
        _write(_factorized_as_torch(args[0]), found[1], found[2])
        total = _sign_of_order(factors)
        for each in factors.packed.diagonal(dim1=-2, dim2=-1).unbind(-1):
            total = total * each
        narrow(total.reshape(found[0].shape), found[0])
    return found


@tables.exact("factorizations", "_linalg_slogdet")
def _sign_and_logarithm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    found = func(*args, **options)
    if args[0].numel():
        factors = _factorized(batched(args[0]))
        _write(_factorized_as_torch(args[0]), found[2], found[3])
        diagonal = factors.packed.diagonal(dim1=-2, dim2=-1)
        sign = _sign_of_order(factors) * diagonal.sign().prod(-1)
        terms = function("log", diagonal.abs().contiguous())
        is_singular = (diagonal == 0).any(-1)
        total = exact_sum(torch.where(is_singular[:, None], 0.0, terms), terms.shape[-1])
        total = torch.where(is_singular, -torch.inf, total)
        narrow(sign.reshape(found[0].shape), found[0])
        narrow(total.reshape(found[1].shape), found[1])
    return found


def _sign_of_order(factors: _Factors) -> torch.Tensor:
    """-1 after an odd number of exchanges, else 1."""
    exchanged = (factors.pivots != torch.arange(factors.pivots.shape[1])).sum(1)
    return 1.0 - 2.0 * (exchanged % 2).double()


def _checks_nothing(func: Operator, options: dict[str, Any]) -> None:
    if options.get("check_errors", False):
        raise NotImplementedError(f"{tables.name_of(func)} gives its info and checks no errors")


@tables.exact("factorizations", "cholesky_solve")
def _cholesky_solved(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The solution of L L' X = B, or of U' U X = B."""
    upper = args[2] if len(args) > 2 else options.get("upper", False)
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    sizes = result.shape[:-2]
    right = batched(args[0].expand(*sizes, *args[0].shape[-2:]))
    factor = args[1].mT if upper else args[1]
    factor = batched(factor.expand(*sizes, *factor.shape[-2:]))
    return narrow(_twice(factor, right).reshape(result.shape).contiguous(), result)


@tables.exact("factorizations", "cholesky_inverse")
def _cholesky_inverse(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    upper = args[1] if len(args) > 1 else options.get("upper", False)
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    factor = batched(args[0].mT if upper else args[0])
    unit = torch.eye(factor.shape[1], dtype=torch.float64).expand(factor.shape)
    return narrow(_twice(factor, unit).reshape(result.shape).contiguous(), result)


def _twice(factor: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    found = substituted(factor, right, False)
    return substituted(factor.mT.flip(-2, -1), found.flip(-2), False).flip(-2)
