"""Functions that are found step by step, in float64: erfinv, digamma, logcumsumexp, and renorm."""

from __future__ import annotations

import math
from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.dispatch import in_mode
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.tables import Operator


@tables.exact("functions", "erfinv")
def _inverse_of_erf(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Newton's steps for the logarithm of erfc, from the first terms of its expansion."""
    result = func(*args, **options)
    y = wide(args[0]).contiguous()
    if y.numel() == 0:
        return result
    size = y.abs().clamp(max=1 - 2.0**-53)
    tail = 1 - size
    # Winitzki's formula is right to 1/500.
    half = 2 / (math.pi * 0.147) + function("log", tail * (1 + size)) / 2
    ratio = function("log", tail * (1 + size)) / 0.147
    x = ((half * half - ratio).sqrt() - half).clamp(min=0).sqrt()
    for _ in range(4):
        rest = torch.where(size < 0.5, function("erf", x) - size, tail - function("erfc", x))
        slope = 2 / math.sqrt(math.pi) * function("exp", -x * x)
        # Halley's step: the second derivative is -2 x times the first.
        step = rest / slope
        x = x - step / (1 + x * step)
    x = torch.where(y.abs() < 1, x, torch.where(y.abs() == 1, torch.inf, torch.nan))
    return narrow(torch.where(y == 0, y, x.copysign(y)), result)


#: Bernoulli's numbers B(2k) / (2k): the terms of digamma's series for large arguments.
_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
#: The series is right to float64 from here on.
_LARGE = 10.0


@tables.exact("functions", "digamma")
def _digamma(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The series for large arguments, which others are moved to; reflected below zero."""
    result = func(*args, **options)
    given = wide(args[0]).contiguous()
    is_reflected = given < 0
    x = torch.where(is_reflected, 1 - given, given)
    found = torch.zeros_like(x)
    for _ in range(int(_LARGE)):
        is_small = x < _LARGE
        found = torch.where(is_small, found - 1 / x, found)
        x = torch.where(is_small, x + 1, x)
    square = 1 / (x * x)
    series = torch.zeros_like(x)
    for each in reversed(_BERNOULLI):
        series = (series + each) * square
    found = found + function("log", x) - 0.5 / x - series
    fraction = given - given.trunc()
    angle = math.pi * fraction
    cotangent = math.pi * function("cos", angle) / function("sin", angle)
    found = torch.where(is_reflected, found - cotangent, found)
    found = torch.where(is_reflected & (fraction == 0), torch.nan, found)
    found = torch.where(given == 0, (-given).reciprocal(), found)
    return narrow(torch.where(given == torch.inf, torch.inf, found), result)


@tables.exact("sums", "_logcumsumexp logcumsumexp")
def _running_logarithm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The logarithm of a running sum of exponentials, element after element."""
    result = func(*args, **options)
    if result.numel() == 0 or result.dim() == 0:
        return result
    found = []
    total: torch.Tensor | None = None
    for each in wide(args[0]).unbind(args[1]):
        total = each if total is None else _logarithm_of_sum(total, each)
        found.append(total)
    return narrow(torch.stack(found, args[1]), result)


def _logarithm_of_sum(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    larger, apart = torch.maximum(one, other), (one - other).abs()
    more = function("log1p", function("exp", (-apart).contiguous()))
    return torch.where(one == other, larger + math.log(2), larger + more)


@tables.exact("sums", "renorm")
def _renormed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Scales the slices of a dim whose norms are above the largest that is allowed."""
    tensor, order, dim, largest = args
    dims = [each for each in range(tensor.dim()) if each != dim % tensor.dim()]
    return in_mode(_scaled_down, tensor, float(order), dims, float(largest))


def _scaled_down(
    tensor: torch.Tensor, order: float, dims: list[int], largest: float
) -> torch.Tensor:
    norm = torch.linalg.vector_norm(tensor, order, dims, keepdim=True)
    return tensor * torch.where(norm > largest, largest / (norm + 1e-7), 1.0)


@tables.exact("sums", "embedding_renorm")
def _renormed_rows(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Scales the rows that are looked up, each once."""
    table, indices, largest, order = args
    rows = indices.reshape(-1).unique()

    def composed() -> torch.Tensor:
        scaled = _scaled_down(table[rows], float(order), [1], float(largest))
        return table.index_copy(0, rows, scaled)

    return in_mode(composed)
