"""Operators that torch has one kernel for, computed as torch's own composition of others."""

from __future__ import annotations

import functools
from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.dispatch import in_mode
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.tables import Operator


@tables.exact(
    "compositions",
    "_weight_norm_interface dist pairwise_distance grid_sampler_2d linalg_cross",
)
def decomposed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Calls the operators of torch's composition."""
    from torch._decomp import decomposition_table

    return in_mode(decomposition_table[func], *args, **options)


@tables.exact("compositions", "_add_relu")
def _add_relu(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return in_mode(lambda: torch.add(*args, **options).relu())


@tables.exact("compositions", "_addmm_activation")
def _addmm_activation(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    use_gelu = options.pop("use_gelu", False)

    def composed() -> torch.Tensor:
        total = torch.addmm(*args, **options)
        return torch.nn.functional.gelu(total, approximate="tanh") if use_gelu else total.relu()

    return in_mode(composed)


@tables.exact("compositions", "_trilinear")
def _trilinear(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The sum over some dims of the product of three tensors with dims put in."""
    tensors, expansions, summed = args[:3], args[3:6], args[6]

    def composed() -> torch.Tensor:
        made = []
        for tensor, dims in zip(tensors, expansions):
            made.append(functools.reduce(torch.unsqueeze, sorted(dims), tensor))
        found = made[0] * made[1] * made[2]
        return found.sum(list(summed)) if summed else found

    return in_mode(composed)


@tables.exact("compositions", "_weight_norm_interface_backward")
def _weight_norm_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The gradients of w = v * g / |v|."""
    gradient, direction, length, norms, dim = args
    dims = [each for each in range(direction.dim()) if each != dim]

    def composed() -> tuple[torch.Tensor, torch.Tensor]:
        ratio = length / norms
        along = (gradient * direction).sum(dims, keepdim=True)
        of_length = along / norms
        return ratio * (gradient - direction * (of_length / norms)), of_length

    return in_mode(composed)


@tables.exact("complex numbers", "_conj_physical")
def _conjugated(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A real number is its own conjugate."""
    return func(*args, **options)


@tables.exact("functions", "atan2 angle")
def _angle(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The angle of a point, from the arctangent of the smaller quotient."""
    result = func(*args, **options)
    if tables.packet_of(func) == "angle" or not result.dtype.is_floating_point:
        return result  # of real numbers: 0 or pi
    y, x = torch.broadcast_tensors(wide(args[0]), wide(args[1]))
    steep = y.abs() > x.abs()
    quotient = torch.where(steep, x.abs() / y.abs(), y.abs() / x.abs())
    quotient = torch.where((y == 0) & (x == 0), 0.0, quotient)
    quotient = torch.where(y.isinf() & x.isinf(), 1.0, quotient)
    half = torch.full_like(x, torch.pi / 2)
    found = function("atan", quotient.contiguous())
    found = torch.where(steep, half - found, found)
    found = torch.where(x.signbit(), torch.pi - found, found)
    return narrow(torch.where(x.isnan() | y.isnan(), torch.nan, found.copysign(y)), result)


@tables.exact("functions", "prod")
def _product(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Multiplies one element after the other, in float64."""
    result = func(*args, **options)
    if not result.dtype.is_floating_point:
        return result
    has_dim = tables.name_of(func) == "prod.dim_int" and args[0].dim() > 0
    tensor = wide(args[0]).movedim(args[1], -1) if has_dim else wide(args[0]).reshape(-1)
    total = torch.ones(tensor.shape[:-1], dtype=torch.float64)
    for each in tensor.unbind(-1):
        total = total * each
    return narrow(total.reshape(result.shape), result)


@tables.exact("sums", "linalg__powsum")
def _sum_of_powers(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The sum of powers of absolute values: a norm without its root."""
    order = args[1] if len(args) > 1 else options.get("ord", 2)
    dim = args[2] if len(args) > 2 else options.get("dim")
    keepdim = args[3] if len(args) > 3 else options.get("keepdim", False)
    dims = list(range(args[0].dim())) if dim is None else dim

    def composed() -> torch.Tensor:
        tensor = args[0] if options.get("dtype") is None else args[0].to(options["dtype"])
        if order == 2:
            return (tensor * tensor.detach()).sum(dims, keepdim=keepdim)
        return tensor.abs().pow(order).sum(dims, keepdim=keepdim)

    return in_mode(composed)
