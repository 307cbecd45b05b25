"""Functions of one element, and powers. They read rounded elements and are rounded once."""

from __future__ import annotations

import math
from typing import Any

import torch

from simmesh._core.exact import apply
from simmesh.torch.exact import doubles, tables
from simmesh.torch.exact.companions import carried, keep
from simmesh.torch.exact.dispatch import in_mode, is_wide
from simmesh.torch.exact.doubles import function, narrow, power, wide
from simmesh.torch.exact.movement import assign
from simmesh.torch.exact.tables import Operator


@tables.exact("functions", " ".join(sorted(doubles.FUNCTIONS - {"sqrt"})))
def _function(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor = args[0]
    if not tensor.dtype.is_floating_point:
        tensor = tensor.to(torch.get_default_dtype())
    result = torch.empty_like(tensor)
    apply(tables.packet_of(func), tensor, result)
    return result


@tables.exact("functions", "sqrt")
def _root(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The root of an exact sum is read exactly: so norms over ranks are put together."""
    result = func(*args, **options)
    tensor = args[0]
    if tensor.dtype.is_floating_point and tensor.numel():
        found = carried(tensor)
        if not found.is_root:
            keep(result, found.root())
    return result


@tables.exact("functions", "pow.Tensor_Scalar")
def _power_of_number(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, exponent = args[0], args[1]
    if exponent == 0.5:
        return _root(torch.ops.aten.sqrt.default, (tensor,), {})
    result = func(*args, **options)
    if not result.dtype.is_floating_point or exponent in (0, 1, 3, -1) or tensor.numel() == 0:
        return result
    if exponent == 2:
        found = carried(tensor)
        if found.is_root:
            keep(result, found.square())
        return result
    if exponent == -0.5:
        return narrow(function("rsqrt", wide(tensor)), result)
    return narrow(power(wide(tensor), float(exponent)), result)


@tables.exact("functions", "pow_")
def _power_in_place(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if isinstance(args[1], torch.Tensor):
        result = _power(torch.ops.aten.pow.Tensor_Tensor, args, {})
    else:
        result = _power_of_number(torch.ops.aten.pow.Tensor_Scalar, args, {})
    args[0].copy_(result)
    assign(args[0], result)
    return args[0]


@tables.exact("functions", "pow.Scalar pow.Tensor_Tensor float_power exp2")
def _power(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if tables.packet_of(func) == "exp2":
        base, exponent = torch.tensor(2.0), args[0]
    else:
        base, exponent = args
    if not result.dtype.is_floating_point:
        return result
    if not isinstance(base, torch.Tensor):
        base = torch.tensor(float(base))
    base, exponent = torch.broadcast_tensors(wide(base), wide(exponent))
    return narrow(power(base, exponent), result)


@tables.exact("functions", "silu")
def _silu(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    x = wide(args[0])
    return narrow(x * function("sigmoid", x), torch.empty_like(args[0]))


@tables.exact("functions", "silu_backward")
def _silu_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    gradient, x = wide(args[0]), wide(args[1])
    slope = function("sigmoid", x)
    return narrow(gradient * (slope * (1 + x * (1 - slope))), torch.empty_like(args[0]))


def _tanh_of_gelu(x: torch.Tensor) -> torch.Tensor:
    return function("tanh", math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


@tables.exact("functions", "gelu")
def _gelu(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    x = wide(args[0])
    if options.get("approximate", "none") == "tanh":
        found = 0.5 * x * (1 + _tanh_of_gelu(x))
    else:
        found = 0.5 * x * function("erfc", x * -math.sqrt(0.5))
    return narrow(found, torch.empty_like(args[0]))


@tables.exact("functions", "gelu_backward")
def _gelu_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    gradient, x = wide(args[0]), wide(args[1])
    if options.get("approximate", "none") == "tanh":
        tanh = _tanh_of_gelu(x)
        inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        slope = 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner
    else:
        density = function("exp", -0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        slope = 0.5 * function("erfc", x * -math.sqrt(0.5)) + x * density
    return narrow(gradient * slope, torch.empty_like(args[0]))


def _composed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return doubles.composed(func, args, options)


tables.exact(
    "functions",
    "elu elu_backward celu mish softplus softplus_backward logit logit_backward "
    "log_sigmoid_forward log_sigmoid_backward hardsigmoid hardsigmoid_backward hardswish "
    "hardswish_backward glu glu_backward logaddexp logaddexp2 sinc special_entr special_xlog1py "
    "xlogy.Tensor xlogy.Scalar_Self xlogy.Scalar_Other",
)(_composed)


@tables.exact("functions", "tanh_backward sigmoid_backward")
def _slope_of_output(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The gradients that are found from the function's result."""
    gradient, output = wide(args[0]), wide(args[1])
    is_tanh = tables.packet_of(func) == "tanh_backward"
    slope = 1 - output * output if is_tanh else output * (1 - output)
    return narrow(gradient * slope, torch.empty_like(args[0]))


@tables.exact("functions", "hypot")
def _hypotenuse(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The longer side times the root of 1 + the square of the quotient."""
    result = func(*args, **options)
    one, other = torch.broadcast_tensors(wide(args[0]).abs(), wide(args[1]).abs())
    longer, shorter = torch.maximum(one, other), torch.minimum(one, other)
    quotient = torch.where(longer == shorter, torch.where(longer == 0, 0.0, 1.0), shorter / longer)
    return narrow(longer * torch.sqrt(1 + quotient * quotient), result)


@tables.exact("functions", "tan")
def _tangent(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    x = wide(args[0])
    into = torch.empty_like(args[0] if args[0].dtype.is_floating_point else x)
    return narrow(function("sin", x) / function("cos", x), into)


@tables.exact("functions", "addcdiv")
def _add_quotient(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """torch's kernel rounds each step of float32 and float64, wherever an element lies."""
    result = func(*args, **options)
    if is_wide(result):
        return result
    base, over, under = (wide(each) for each in args[:3])
    return narrow(base + options.get("value", 1) * (over / under), result)


@tables.exact("functions", "lerp.Scalar lerp.Tensor")
def _interpolate(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    begin, end, weight = args[:3]
    result = func(*args, **options)
    if not isinstance(weight, torch.Tensor):
        return result if is_wide(result) else narrow(_between(begin, end, weight), result)
    return narrow(_between(begin, end, wide(weight)), result)


def _between(begin: torch.Tensor, end: torch.Tensor, weight: Any) -> torch.Tensor:
    one, other = wide(begin), wide(end)
    return one + weight * (other - one)


@tables.exact("elementwise", "ldexp.Tensor")
def _times_power_of_two(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return in_mode(lambda: args[0] * torch.pow(2.0, args[1]))


@tables.exact("elementwise", "abs sgn reciprocal")
def _alike(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Torch's own for real numbers, which are alike everywhere; those of complex ones are not."""
    return func(*args, **options)


tables.safe(
    "comparisons",
    "eq ne lt le gt ge isnan isinf isposinf isneginf equal allclose isin is_same_size signbit "
    "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not "
    "any all argmax argmin count_nonzero nonzero nonzero_static _is_all_true _is_any_true "
    "searchsorted bucketize histc bincount _local_scalar_dense _assert_async "
    "_functional_assert_async "
    "_assert_tensor_metadata _linalg_check_errors is_nonzero isreal",
)
tables.safe(
    "elementwise",
    "relu threshold threshold_backward clamp clamp_min clamp_max maximum minimum fmax fmin "
    "floor ceil round trunc frac sign copysign hardtanh hardtanh_backward "
    "leaky_relu leaky_relu_backward hardshrink hardshrink_backward softshrink softshrink_backward "
    "floor_divide floor_divide_ fmod remainder nan_to_num nextafter heaviside deg2rad rad2deg "
    "_prelu_kernel _prelu_kernel_backward frexp.Tensor lgamma",
)
