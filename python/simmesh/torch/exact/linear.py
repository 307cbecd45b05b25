"""Sums, differences and products of elements, which read and keep exact values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import (
    carried,
    drop,
    keep,
    outside_of_steps,
    scope,
    values,
    write,
)
from simmesh.torch.exact.dispatch import is_wide
from simmesh.torch.exact.tables import Operator

#: Gets the arguments, the options, and the shape and dtype of the result.
Formula = Callable[[tuple[Any, ...], dict[str, Any], torch.Size, torch.dtype], Values]


def number(value: float) -> Values:
    """One number."""
    return Values.of(torch.tensor([value], dtype=torch.float64))


def operand(value: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    """The values of an operand for each element of a result: one where all have the same."""
    if not isinstance(value, torch.Tensor):
        return number(float(value))
    if not value.dtype.is_floating_point:
        value = value.to(dtype)
    if value.numel() == 1 or value.shape == shape:
        return values(value)
    return values(value.expand(shape))


def _linear(family: str, names: str, formula: Formula) -> None:
    """Enters an operator and its form that writes into its first operand. In an optimizer's step
    torch's kernels round each such write to float32 and float64, wherever an element lies; but new
    tensors keep exact values, since gradients may be parts of sums that are added up later.
    """

    def functional(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = func(*args, **options)
        with outside_of_steps():
            write(result, _whole(formula(args, options, result.shape, result.dtype), result))
        return result

    def in_place(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        target = args[0]
        if scope.steps and is_wide(target):
            func(*args, **options)
            drop(target)
            return target
        write(target, _whole(formula(args, options, target.shape, target.dtype), target))
        return target

    tables.exact(family, names)(functional)
    written = [base + "_" + dot + overload
               for base, dot, overload in (name.partition(".") for name in names.split())
               if base not in ("rsub", "positive")]  # fmt: skip
    tables.exact(family, " ".join(written))(in_place)


def _whole(result: Values, target: torch.Tensor) -> Values:
    """Repeats a single value for a target of several elements."""
    if result.count == target.numel():
        return result
    return result.taken(torch.zeros(target.numel(), dtype=torch.int64))


def _add(args: Any, options: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    alpha = args[2] if len(args) > 2 else options.get("alpha", 1)
    return operand(args[0], shape, dtype).plus(operand(args[1], shape, dtype), float(alpha))


def _subtract(args: Any, options: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    alpha = args[2] if len(args) > 2 else options.get("alpha", 1)
    return operand(args[0], shape, dtype).plus(operand(args[1], shape, dtype), -float(alpha))


def _subtract_from(args: Any, options: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    alpha = args[2] if len(args) > 2 else options.get("alpha", 1)
    return operand(args[1], shape, dtype).plus(operand(args[0], shape, dtype), -float(alpha))


def _multiply(args: Any, options: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    one, other = args[0], args[1]
    if not isinstance(other, torch.Tensor):
        return operand(one, shape, dtype).scaled(float(other))
    return operand(one, shape, dtype).times(operand(other, shape, dtype))


def _negate(args: Any, options: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    return operand(args[0], shape, dtype).scaled(-1.0)


def _add_product(args: Any, options: Any, shape: torch.Size, dtype: torch.dtype) -> Values:
    factor = args[3] if len(args) > 3 else options.get("value", 1)
    one, other = operand(args[1], shape, dtype), operand(args[2], shape, dtype)
    return operand(args[0], shape, dtype).plus(one.times(other), float(factor))


_linear("linear", "add.Tensor add.Scalar", _add)
_linear("linear", "sub.Tensor sub.Scalar", _subtract)
_linear("linear", "rsub.Tensor rsub.Scalar", _subtract_from)
_linear("linear", "mul.Tensor mul.Scalar", _multiply)
_linear("linear", "neg", _negate)
_linear("linear", "addcmul", _add_product)


@tables.exact("linear", "div.Tensor div.Scalar div_.Tensor div_.Scalar div.Tensor_mode "
              "div.Scalar_mode div_.Tensor_mode div_.Scalar_mode")  # fmt: skip
def _divide(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Divides exactly by a number or by a tensor without dims. A division by a tensor whose
    elements differ isn't linear: torch rounds the quotient of the rounded elements once.
    """
    one, other = args[0], args[1]
    if options.get("rounding_mode") is not None or not _divides_all(one, other):
        return func(*args, **options)
    divisor = float(other)
    found = carried(one) if one.dtype.is_floating_point else None
    root = None if found is None or not found.is_root else _divided_root(found, divisor)
    quotient = root or operand(one, one.shape, torch.get_default_dtype()).divided(divisor)
    result = func(*args, **options)
    if root is None:
        write(result, quotient)
    else:
        keep(result, root)
    return result


def _divides_all(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return False
    if not isinstance(other, torch.Tensor):
        return True
    return other.dim() == 0 or (other.numel() == 1 and other.dim() < one.dim())


def _divided_root(root: Values, divisor: float) -> Values | None:
    """The root of a sum over sqrt(n), exactly: so DTensor spreads a replicated 2-norm over n
    ranks. None where the divisor is no such root.
    """
    parts = round(divisor * divisor) if abs(divisor) < 1e6 else 0
    if parts < 1 or math.sqrt(parts) != divisor:
        return None
    return root.square().divided(float(parts)).root()
