"""Softmax and losses. The formulas are those that loss_parallel computes step by step."""

from __future__ import annotations

from typing import Any

import torch

from simmesh._core.exact import Values, apply
from simmesh.torch.exact import doubles, tables
from simmesh.torch.exact.companions import values, write
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.indexing import places_of
from simmesh.torch.exact.sums import dims_of, summed_last
from simmesh.torch.exact.tables import Operator


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which torch computes a softmax of elements of a dtype."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def _rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    return tensor.movedim(dim, -1) if tensor.dim() else tensor.reshape(1)


def _rowwise(found: Values, rows: torch.Tensor) -> Values:
    """Repeats a value of each row for the row's elements."""
    length = rows.shape[-1]
    return found.taken(torch.arange(rows.numel()) // max(length, 1))


def _exp_sum(shifted: torch.Tensor, length: int) -> tuple[torch.Tensor, Values]:
    powers = torch.empty(shifted.shape, dtype=shifted.dtype)
    apply("exp", shifted, powers)
    return powers, summed_last(Values.of(powers), length)


@tables.exact("softmax and losses", "_log_softmax")
def _log_softmax(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """x - max, less the logarithm of the rounded sum of exp of that."""
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    rows, into = _rows(args[0], args[1]), _rows(result, args[1])
    if into.dtype != args[0].dtype or computed_in(args[0].dtype) != args[0].dtype:
        rows = rows.to(computed_in(args[0].dtype))
    length = rows.shape[-1]
    found = values(rows).plus(Values.of(rows.amax(-1, keepdim=True).expand(rows.shape)), -1.0)
    shifted = torch.empty(rows.shape, dtype=rows.dtype)
    found.round_into(shifted)
    total = torch.empty(rows.shape[:-1], dtype=rows.dtype)
    _exp_sum(shifted, length)[1].round_into(total)
    logarithm = torch.empty_like(total)
    apply("log", total, logarithm)
    found = found.plus(_rowwise(Values.of(logarithm), rows), -1.0)
    if into.dtype == rows.dtype:
        write(into, found)
        return result
    found.round_into(shifted)
    write(into, Values.of(shifted))
    return result


@tables.exact("softmax and losses", "_log_softmax_backward_data")
def _log_softmax_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """g - exp(y) * sum(g), which is exact in g."""
    result = func(*args, **options)
    gradient, output, dim = _rows(args[0], args[2]), _rows(args[1], args[2]), args[2]
    if result.numel() == 0:
        return result
    powers = torch.empty(output.shape, dtype=output.dtype)
    apply("exp", output, powers)
    given = values(gradient)
    total = _rowwise(summed_last(given, output.shape[-1]), output)
    write(_rows(result, dim), given.plus(total.times(Values.of(powers)), -1.0))
    return result


def softmax_of(rows: torch.Tensor) -> torch.Tensor:
    """The softmax of rows of float64, and zeros for rows of -inf alone where ``is_safe``."""
    powers = function("exp", rows - rows.amax(-1, keepdim=True))
    total = torch.empty(rows.shape[:-1], dtype=torch.float64)
    summed_last(Values.of(powers), rows.shape[-1]).round_into(total)
    return powers / total.unsqueeze(-1)


@tables.exact("softmax and losses", "_softmax _safe_softmax")
def _softmax(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    rows = wide(_rows(args[0], args[1])).contiguous()
    found = softmax_of(rows)
    if tables.packet_of(func) == "_safe_softmax":
        found = torch.where((rows == float("-inf")).all(-1, keepdim=True), 0.0, found)
    narrow(found, _rows(result, args[1]))
    return result


@tables.exact("softmax and losses", "_softmax_backward_data")
def _softmax_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """y * (g - sum(g * y))."""
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    gradient, output = (wide(_rows(each, args[2])).contiguous() for each in args[:2])
    narrow(softmax_gradient(gradient, output), _rows(result, args[2]))
    return result


def softmax_gradient(gradient: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The gradient of rows of float64 through a softmax."""
    total = torch.empty(output.shape[:-1], dtype=torch.float64)
    products = Values.of(gradient).times(Values.of(output))
    summed_last(products, output.shape[-1]).round_into(total)
    return output * (gradient - total.unsqueeze(-1))


@tables.exact("softmax and losses", "logsumexp")
def _log_sum_exp(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if args[0].numel() == 0:
        return result
    tensor = wide(args[0])
    dims = dims_of(tensor, args[1])
    largest = tensor.amax(dims, keepdim=True) if dims else tensor
    largest = torch.where(largest.isinf(), 0.0, largest)
    powers = function("exp", tensor - largest)
    kept = [dim for dim in range(tensor.dim()) if dim not in dims]
    view = powers.permute(kept + dims)
    total = torch.empty(largest.numel(), dtype=torch.float64)
    summed_last(Values.of(view), powers.numel() // largest.numel()).round_into(total)
    narrow((function("log", total) + largest.reshape(-1)).reshape(result.shape), result)
    return result


def _picked(target: torch.Tensor, classes: int, ignored: int, shape: torch.Size) -> torch.Tensor:
    """The number of the element that each target names in a tensor of classes in dim 1, or 0 if
    there is one dim; -1 for targets that are ignored.
    """
    dim = 1 if len(shape) > 1 else 0
    safe = torch.where(target == ignored, 0, target).unsqueeze(dim)
    places = places_of(shape).gather(dim, safe).squeeze(dim)
    return torch.where(target == ignored, -1, places)


def _weights(weight: torch.Tensor | None, target: torch.Tensor, ignored: int,
             dtype: torch.dtype) -> torch.Tensor:  # fmt: skip
    """The weight of each target; 0 for those that are ignored."""
    safe = torch.where(target == ignored, 0, target)
    chosen = torch.ones(target.shape, dtype=dtype) if weight is None else weight[safe]
    return torch.where(target == ignored, 0.0, chosen)


@tables.exact("softmax and losses", "nll_loss_forward nll_loss2d_forward")
def _nll_loss(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, total_weight = func(*args, **options)
    given, target, weight, reduction, ignored = args
    if given.numel() == 0:
        return result, total_weight
    picked = _picked(target, given.shape[min(1, given.dim() - 1)], ignored, given.shape)
    weights = _weights(weight, target, ignored, given.dtype)
    terms = values(given).taken(picked.reshape(-1)).scaled(-1.0)
    if weight is not None:
        terms = terms.times(Values.of(weights))
    if reduction == 0:
        write(result, terms)
        return result, total_weight
    terms = summed_last(terms, terms.count)
    summed_last(Values.of(weights), weights.numel()).round_into(total_weight)
    write(result, terms.divided(float(total_weight)) if reduction == 1 else terms)
    return result, total_weight


@tables.exact("softmax and losses", "nll_loss_backward nll_loss2d_backward")
def _nll_loss_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, given, target, weight, reduction, ignored, total_weight = args
    if given.numel() == 0:
        return result
    picked = _picked(target, given.shape[min(1, given.dim() - 1)], ignored, given.shape)
    weights = _weights(weight, target, ignored, given.dtype)
    terms = values(gradient if gradient.shape == target.shape else gradient.expand(target.shape))
    terms = terms.times(Values.of(weights)).scaled(-1.0)
    if reduction == 1:
        terms = terms.divided(float(total_weight))
    write(result, terms.summed_at(picked.reshape(-1), given.numel()))
    return result


@tables.exact(
    "softmax and losses",
    "smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits "
    "soft_margin_loss",
)
def _loss(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The exact sum of terms that are computed in float64."""
    result = func(*args, **options)
    given = tables.named_arguments(func, args, options)
    reduction = given["reduction"]
    if args[0].numel() == 0:
        return result
    terms = doubles.terms_of(func, tuple({**given, "reduction": 0}.values()), {})
    if reduction == 0:
        return narrow(terms, result)
    total = summed_last(Values.of(terms), terms.numel())
    write(result, total.divided(float(terms.numel())) if reduction == 1 else total)
    return result


@tables.exact(
    "softmax and losses",
    "smooth_l1_loss_backward huber_loss_backward binary_cross_entropy_backward "
    "soft_margin_loss_backward",
)
def _loss_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return doubles.composed(func, args, options)


def _difference(one: torch.Tensor, other: torch.Tensor) -> Values:
    one, other = torch.broadcast_tensors(one, other)
    return Values.of(one).plus(Values.of(other), -1.0)


@tables.exact("softmax and losses", "mse_loss")
def _squared_error(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    difference = _difference(args[0], args[1])
    reduction = args[2] if len(args) > 2 else options.get("reduction", 1)
    terms = difference.times(difference)
    if terms.count == 0:
        return result
    if reduction != 0:
        count = terms.count
        terms = summed_last(terms, count)
        terms = terms.divided(float(count)) if reduction == 1 else terms
    write(result, terms)
    return result


@tables.exact("softmax and losses", "mse_loss_backward")
def _squared_error_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """2 * g * (x - target), divided by the number of elements for a mean."""
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    gradient, one, other, reduction = args
    found = _difference(one, other).times(values(gradient.expand(result.shape))).scaled(2.0)
    write(result, found.divided(float(result.numel())) if reduction == 1 else found)
    return result
