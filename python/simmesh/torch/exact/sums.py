"""Sums over dims, means, norms, variances and cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from simmesh._core.exact import Values, apply
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import carried, keep, values
from simmesh.torch.exact.tables import Operator


def reduced_last(tensor: torch.Tensor, dims: Any) -> tuple[torch.Tensor, int]:
    """A view with the dims that are summed over at the end, and the number of their elements."""
    chosen = dims_of(tensor, dims)
    kept = [dim for dim in range(tensor.dim()) if dim not in chosen]
    count = 1
    for dim in chosen:
        count *= tensor.shape[dim]
    return tensor.permute(kept + chosen), count


def dims_of(tensor: torch.Tensor, dims: Any) -> list[int]:
    """The dims that an argument names, in order: all of them for none."""
    if tensor.dim() == 0:
        return []
    if dims is None or (isinstance(dims, Sequence) and len(dims) == 0):
        return list(range(tensor.dim()))
    listed = [dims] if isinstance(dims, int) else list(dims)
    return sorted(dim % tensor.dim() for dim in listed) if tensor.dim() else []


def summed_last(terms: Values, count: int) -> Values:
    """The sums of ``count`` values that follow one another."""
    return terms.summed(terms.count // count if count else 0, count, 1)


def _argument(args: tuple[Any, ...], options: dict[str, Any], at: int, name: str,
              default: Any) -> Any:  # fmt: skip
    return args[at] if len(args) > at else options.get(name, default)


@tables.exact("sums", "sum sum.dim_IntList mean mean.dim nansum")
def _sum(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    tensor, packet = args[0], tables.packet_of(func)
    if tensor.numel() == 0 or not result.dtype.is_floating_point:
        return result
    if not tensor.dtype.is_floating_point:
        tensor = tensor.to(result.dtype)
    if packet == "nansum":
        tensor = torch.where(tensor.isnan(), torch.zeros_like(tensor), tensor)
    view, count = reduced_last(tensor, _argument(args, options, 1, "dim", None))
    total = summed_last(values(view), count)
    keep(result, total.divided(float(count)) if packet == "mean" else total)
    return result


@tables.exact("sums", "trace")
def _trace(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    diagonal = args[0].diagonal()
    if diagonal.numel() and result.dtype.is_floating_point:
        keep(result, summed_last(values(diagonal), diagonal.numel()))
    return result


@tables.exact("sums", "linalg_vector_norm norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype "
              "norm.ScalarOpt_dtype")  # fmt: skip
def _norm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    tensor = args[0]
    order = float(2 if (given := _argument(args, options, 1, "ord", 2)) is None else given)
    dims = (
        None if tables.name_of(func) == "norm.Scalar" else _argument(args, options, 2, "dim", None)
    )
    write_norm(result, tensor, order, dims)
    return result


def write_norm(result: torch.Tensor, tensor: torch.Tensor, order: float, dims: Any) -> None:
    """Writes the norms of rounded elements. Behind a 2-norm stands the root of the exact sum, so
    that the norm of norms is the norm of all elements.
    """
    if tensor.numel() == 0 or abs(order) == float("inf"):
        return
    view, count = reduced_last(tensor, dims)
    if order == 2:
        keep(result, summed_last(_squares(view), count).root())
    elif order == 1:
        keep(result, summed_last(Values.of(view.abs()), count))
    elif order != 0:
        powers = _power(view.double().abs(), order)
        total = torch.empty(powers.numel() // count, dtype=torch.float64)
        summed_last(Values.of(powers), count).round_into(total)
        keep(result, Values.of(_power(total, 1.0 / order)))


def _squares(tensor: torch.Tensor) -> Values:
    found = carried(tensor)
    if found.is_root:
        return found.square()
    elements = Values.of(tensor)
    return elements.times(elements)


def _power(base: torch.Tensor, exponent: float) -> torch.Tensor:
    result = torch.empty(base.shape, dtype=torch.float64)
    apply("power", base, result, exponent)
    return result


@tables.exact("sums", "var.correction std.correction var_mean.correction std_mean.correction")
def _variance(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The variance of rounded elements is exact: the sum of squares without that of the mean."""
    result = func(*args, **options)
    tensor, packet = args[0], tables.packet_of(func)
    if tensor.numel() == 0 or not tensor.dtype.is_floating_point:
        return result
    view, count = reduced_last(tensor, _argument(args, options, 1, "dim", None))
    correction = options.get("correction")
    freedom = count - (1 if correction is None else correction)
    spread, mean = moments(view, count)
    spread_into, mean_into = result if packet.endswith("_mean") else (result, None)
    if freedom > 0:
        variance = spread.divided(float(freedom))
        keep(spread_into, variance.root() if packet.startswith("std") else variance)
    if mean_into is not None:
        keep(mean_into, mean)
    return result


def exact_sum(terms: torch.Tensor, count: int) -> torch.Tensor:
    """The sums of each ``count`` float64 elements, rounded once."""
    total = torch.empty(terms.numel() // count, dtype=torch.float64)
    summed_last(Values.of(terms), count).round_into(total)
    return total


def moments(view: torch.Tensor, count: int) -> tuple[Values, Values]:
    """The sum of squared deviations and the mean of each ``count`` elements, both exact."""
    elements = Values.of(view)
    total = summed_last(elements, count)
    mean = total.divided(float(count))
    return summed_last(elements.times(elements), count).plus(total.times(mean), -1.0), mean


@tables.exact("sums", "cumsum")
def _cumulative_sum(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Adds to each element the sum that ends 1, 2, 4 ... places before it."""
    result = func(*args, **options)
    tensor = args[0]
    if tensor.numel() == 0 or not result.dtype.is_floating_point:
        return result
    if not tensor.dtype.is_floating_point:
        tensor = tensor.to(result.dtype)
    if tensor.dim() == 0:
        keep(result, values(tensor))
        return result
    view = tensor.movedim(args[1], -1)
    length = view.shape[-1]
    place = torch.arange(view.numel()).reshape(-1, length)
    total, step = values(view), 1
    while step < length:
        before = torch.full_like(place, -1)
        before[:, step:] = place[:, :-step]
        total = total.plus(total.taken(before.reshape(-1)))
        step *= 2
    keep(result.movedim(args[1], -1), total)
    return result
