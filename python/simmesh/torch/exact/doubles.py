"""Operators composed of float64 operations, each of which has fixed bits.

Sums, products, quotients and square roots of float64 are rounded once wherever an element lies, so
they are torch's own. Elementary functions are the core's, sums over elements are exact.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh._core.exact import Values, apply
from simmesh.torch.exact import tables
from simmesh.torch.exact.sums import reduced_last, summed_last
from simmesh.torch.exact.tables import Operator

#: The elementary functions of the core, by torch's names.
FUNCTIONS = tables.words(
    "exp expm1 log log1p log2 log10 tanh sigmoid erf erfc sin cos sinh cosh asin acos atan asinh "
    "acosh atanh sqrt rsqrt"
)

#: Operators of float64 that torch computes with fixed bits.
_FIXED = tables.words(
    "abs add addcmul amax amin argmax argmin bitwise_and bitwise_not bitwise_or broadcast_in_dim "
    "broadcast_to ceil clamp clamp_max clamp_min clone contiguous convert_element_type copy_ "
    "copysign detach div empty empty_like empty_strided eq expand fill fill_ floor full full_like "
    "ge gt isfinite isinf isnan item le lift_fresh logical_and logical_not logical_or lt maximum "
    "minimum mul ne neg new_empty new_full new_ones new_zeros ones ones_like permute reciprocal "
    "remainder reshape round rsub scalar_tensor select sign signbit slice squeeze sub t transpose "
    "true_divide trunc unbind unsqueeze view view_of where zeros zeros_like _to_copy _unsafe_view "
    "alias masked_fill relu split split_with_sizes cat fmax fmin device_put as_strided "
    "collapse_view split_dim sgn threshold _local_scalar_dense gather index arange iota "
    "nextafter bitwise_xor detach_ mul_ add_ sub_ div_ view_copy"
)

#: Operators that compositions call and that are compositions themselves.
_NESTED = tables.words("log_sigmoid_forward softplus")


def _compositions() -> dict[Operator, Any]:
    from torch._decomp import decomposition_table

    return decomposition_table


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """The rounded elements as float64."""
    return tensor.to(torch.float64)


def function(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """An elementary function of float64 elements."""
    result = torch.empty(tensor.shape, dtype=torch.float64)
    apply(name, tensor, result)
    return result


def power(base: torch.Tensor, exponent: Any) -> torch.Tensor:
    """Powers of float64 elements; the exponent is a number or a tensor."""
    if isinstance(exponent, torch.Tensor):
        base, exponent = torch.broadcast_tensors(base, wide(exponent))
    result = torch.empty(base.shape, dtype=torch.float64)
    apply("power", base, result, exponent)
    return result


def power_of_two_near(largest: torch.Tensor) -> torch.Tensor:
    """A power of two near each of some sizes, by which squares stay in range when they are divided
    by it; 1 for 0 and for sizes that aren't finite.
    """
    exponent = torch.frexp(largest)[1].clamp(-1000, 1000)
    power = torch.ldexp(torch.ones_like(largest), exponent)
    return torch.where((largest > 0) & largest.isfinite(), power, 1.0)


def narrow(doubles: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Rounds float64 elements once into a result."""
    if result.dtype in (torch.float32, torch.float64):
        return result.copy_(doubles)
    Values.of(doubles).round_into(result)
    return result


def composed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Computes an operator by torch's own composition of it, in float64."""
    results = func(*args, **options)
    compute = _compositions()[func]
    with _FixedBits(func):
        doubles = compute(*_widened(args), **{key: _widened(each) for key, each in options.items()})
    _narrow_all(results, doubles)
    return results


def terms_of(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of ``composed``, unrounded."""
    with _FixedBits(func):
        return _compositions()[func](
            *_widened(args), **{key: _widened(each) for key, each in options.items()}
        )


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return wide(value) if value.dtype.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(each) for each in value)
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value


def _narrow_all(results: Any, doubles: Any) -> None:
    if isinstance(results, torch.Tensor):
        if results.dtype.is_floating_point:
            narrow(doubles, results)
    elif isinstance(results, (list, tuple)):
        for one, other in zip(results, doubles):
            _narrow_all(one, other)


class _FixedBits(TorchDispatchMode):
    """Computes the operators that a composition calls."""

    def __init__(self, whole: Operator) -> None:
        super().__init__()
        self._whole = whole

    def __torch_dispatch__(
        self, func: Operator, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        name = func.name().partition("::")[2].partition(".")[0]
        first = args[0] if args else None
        if not isinstance(first, torch.Tensor) or not _has_doubles(args):
            return func(*args, **options)
        if name in FUNCTIONS:
            return function(name, wide(first))
        if name == "pow":
            return power(wide(first), args[1])
        if name == "exp2":
            return power(torch.full_like(first, 2.0), first)
        if name in ("sum", "mean"):
            return self._sum(func, name, args, options)
        if func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
            with self:
                return func.decompose(*args, **options)
        if name in _NESTED:
            with self:
                return _compositions()[func](*args, **options)
        if name not in _FIXED:
            raise NotImplementedError(
                f"[torch/exact] {tables.name_of(self._whole)}: expected a composition of operators "
                f"with fixed bits, got {func.name()} in it"
            )
        return func(*args, **options)

    @staticmethod
    def _sum(func: Operator, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = func(*args, **options)
        if args[0].numel():
            view, count = reduced_last(args[0], args[1] if len(args) > 1 else None)
            total = summed_last(Values.of(view), count)
            (total.divided(float(count)) if name == "mean" else total).round_into(result)
        return result


def _has_doubles(args: tuple[Any, ...]) -> bool:
    return any(each.dtype.is_floating_point for each in tables.tensors_in(args))
