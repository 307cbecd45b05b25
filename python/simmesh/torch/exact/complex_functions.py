"""Complex numbers: products of matrices and sums, which are exact, and functions in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from simmesh._core.exact import Values, product
from simmesh.torch.exact import complex_numbers, tables
from simmesh.torch.exact.companions import drop, keep_product, unrounded
from simmesh.torch.exact.dispatch import in_mode
from simmesh.torch.exact.doubles import function, narrow, power_of_two_near, wide
from simmesh.torch.exact.movement import assign
from simmesh.torch.exact.tables import Operator

#: The real and the imaginary parts, in float64.
Doubles = tuple[torch.Tensor, torch.Tensor]


def _real_parts(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The real and the imaginary parts, and zeros for a real tensor."""
    if not tensor.dtype.is_complex:
        return tensor, torch.zeros_like(tensor)
    real, imaginary = torch.view_as_real(tensor.resolve_conj()).unbind(-1)
    return real, imaginary


def _product_of(packet: str, one: torch.Tensor, other: torch.Tensor) -> tuple[Values, Values]:
    if packet.endswith("dot"):
        one = one.unsqueeze(0)
    if packet.endswith(("mv", "dot")):
        other = other.unsqueeze(1)
    (a, b), (c, d) = _real_parts(one), _real_parts(other)
    if packet == "vdot":
        b = -b
    real, imaginary = product(a, c).plus(product(b, d), -1.0), product(a, d).plus(product(b, c))
    return real, imaginary


def _keep(result: torch.Tensor, parts: tuple[Values, Values]) -> torch.Tensor:
    for into, part in zip(torch.view_as_real(result).unbind(-1), parts):
        keep_product(into, part)
    return result


def _multiplied(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options).resolve_conj()  # the product of conjugates is a conjugate view
    if result.numel() == 0:
        return result
    return _keep(result, _product_of(tables.packet_of(func), args[0], args[1]))


def _added_product(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """beta * input + alpha * product, where both factors are real."""
    factors = [complex(options.get(name, 1)) for name in ("beta", "alpha")]
    if any(each.imag for each in factors):
        raise NotImplementedError("alpha and beta of complex products are real")
    beta, alpha = (each.real for each in factors)
    packet = tables.packet_of(func).removesuffix("_")
    last = args[2].shape[-1:] if packet.endswith("mm") else ()
    shape = (*args[1].shape[:-1], *last)
    if 0 in (*shape, args[1].shape[-1]):
        return func(*args, **options)
    found = [each.scaled(alpha) for each in _product_of(packet, args[1], args[2])]
    if beta:
        given = _real_parts(args[0].expand(shape))
        found = [each.plus(unrounded(part), beta) for each, part in zip(found, given)]
    return _keep(func(*args, **options), (found[0], found[1]))


def _resolved(value: Any) -> Any:
    is_conjugate = isinstance(value, torch.Tensor) and value.is_conj()
    return in_mode(torch.resolve_conj, value) if is_conjugate else value


def _by_parts(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """An operator that treats both parts alike, as a sum does."""
    if tables.packet_of(func).endswith("_"):
        if args[0].is_conj():
            raise NotImplementedError("conjugate views are copied before they are written")
        operands = [args[0], *map(_resolved, args[1:])]
        for part in (0, 1):
            in_mode(func, *(complex_numbers.part_of(each, part) for each in operands), **options)
        return args[0]
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    given = [_resolved(each) for each in args]
    given[0] = in_mode(given[0].to, result.dtype)
    named = {name: value for name, value in options.items() if name != "dtype"}
    for part, into in enumerate(torch.view_as_real(result).unbind(-1)):
        assign(
            into, in_mode(func, *(complex_numbers.part_of(each, part) for each in given), **named)
        )
    return result


def _norm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The norm of absolute values. A 2-norm is that of both parts, and keeps its exact square."""
    result = func(*args, **options)
    given = dict(zip([each.name for each in func._schema.arguments], args)) | options
    order = given.get("ord", given.get("p"))
    order = 2.0 if order is None else float(order)
    tensor = _resolved(args[0])
    dims = given.get("dim")
    dims = list(range(tensor.dim())) if dims is None or dims == [] else dims
    dims = [each % max(tensor.dim(), 1) for each in ([dims] if isinstance(dims, int) else dims)]
    if result.numel() == 0 or tensor.numel() == 0:
        return result
    norm = torch.linalg.vector_norm
    if order == 2.0:
        parts = torch.view_as_real(tensor)
        found = in_mode(norm, parts, order, [*dims[: tensor.dim()], -1])
    else:
        found = in_mode(lambda: norm(tensor.abs(), order, dims if tensor.dim() else None))
    found = found.reshape(result.shape)
    result.copy_(found)
    assign(result, found)
    return result


for _names, _handler in (
    ("mm bmm mv dot vdot", _multiplied), ("addmm baddbmm addmv", _added_product),
    ("linalg_vector_norm norm", _norm),
    ("sum mean cumsum trace index_add index_put scatter_add put unfold_backward col2im "
     "_unsafe_masked_index_put_accumulate reflection_pad1d_backward reflection_pad2d_backward "
     "reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward "
     "replication_pad3d_backward", _by_parts),
):  # fmt: skip
    for _name in _names.split():
        complex_numbers.enter(_name, _handler)


def _doubles(value: Any, shape: torch.Size) -> Doubles:
    if not isinstance(value, torch.Tensor):
        number = complex(value)
        real = torch.full(shape, number.real, dtype=torch.float64)
        return real, torch.full(shape, number.imag, dtype=torch.float64)
    real, imaginary = _real_parts(value)
    return wide(real).expand(shape).contiguous(), wide(imaginary).expand(shape).contiguous()


def _computed(formula: Callable[..., Any]) -> tables.Handler:
    """Computes a function of the parts of up to two operands. One part alone is a real result."""

    def handler(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if any(value is not None for value in options.values()):
            raise NotImplementedError("functions of complex numbers have no options")
        shape = torch.broadcast_shapes(*(each.shape for each in tables.tensors_in(args)))
        operands = [_doubles(each, shape) for each in args]
        result = func(*args)
        if result.numel() == 0:
            return result
        found = formula(*operands)
        if not result.dtype.is_complex:
            return narrow(found, result)
        for into, part in zip(torch.view_as_real(result).unbind(-1), found):
            narrow(part, into)
            drop(into)
        return result

    return handler


def _scale_of(z: Doubles) -> torch.Tensor:
    return power_of_two_near(torch.maximum(z[0].abs(), z[1].abs()))


def _length(z: Doubles) -> torch.Tensor:
    scale = _scale_of(z)
    real, imaginary = z[0] / scale, z[1] / scale
    found = (real * real + imaginary * imaginary).sqrt() * scale
    return torch.where(z[0].isinf() | z[1].isinf(), torch.inf, found)


def _angle(z: Doubles) -> torch.Tensor:
    return in_mode(torch.atan2, z[1], z[0])


def _times(one: Doubles, other: Doubles) -> Doubles:
    (a, b), (c, d) = one, other
    return a * c - b * d, a * d + b * c


def _over(one: Doubles, other: Doubles) -> Doubles:
    scale = _scale_of(other)
    c, d = other[0] / scale, other[1] / scale
    real, imaginary = _times(one, (c, -d))
    square = c * c + d * d
    return real / square / scale, imaginary / square / scale


def _sign(z: Doubles) -> Doubles:
    length = _length(z)
    divisor = torch.where(length == 0, 1.0, length)
    return z[0] / divisor, z[1] / divisor


def _exponential(z: Doubles) -> Doubles:
    length = function("exp", z[0])
    real, imaginary = length * function("cos", z[1]), length * function("sin", z[1])
    return real, torch.where(z[1] == 0, z[1], imaginary)


def _logarithm(z: Doubles) -> Doubles:
    return function("log", _length(z)), _angle(z)


def _root(z: Doubles) -> Doubles:
    length = _length(z)
    half = ((length + z[0].abs()) / 2).sqrt()
    other = torch.where(half == 0, 0.0, z[1].abs() / (2 * half))
    is_left = z[0] < 0
    real, imaginary = torch.where(is_left, other, half), torch.where(is_left, half, other)
    return real, imaginary.copysign(z[1])


def _power(base: Doubles, exponent: Doubles) -> Doubles:
    """Products for whole numbers of up to 8, else exp(exponent * log(base))."""
    number = float(exponent[0].reshape(-1)[0])
    is_same = bool((exponent[0] == number).all()) and not bool(exponent[1].any())
    if is_same and number in range(9):
        found = (torch.ones_like(base[0]), torch.zeros_like(base[1]))
        for _ in range(int(number)):
            found = _times(found, base)
        return found
    real, imaginary = _exponential(_times(exponent, _logarithm(base)))
    is_zero = (base[0] == 0) & (base[1] == 0)
    is_one = (exponent[0] == 0) & (exponent[1] == 0)
    at_zero = torch.where(is_one, 1.0, 0.0)
    return torch.where(is_zero, at_zero, real), torch.where(is_zero, 0.0, imaginary)


def _hyperbolic(z: Doubles, name: str, other: str) -> Doubles:
    return (
        function(name, z[0]) * function("cos", z[1]),
        function(other, z[0]) * function("sin", z[1]),
    )


def _turned(formula: Callable[[Doubles], Doubles]) -> Callable[[Doubles], Doubles]:
    """-i * f(i z): the sine from the hyperbolic sine."""

    def turned(z: Doubles) -> Doubles:
        real, imaginary = formula((-z[1], z[0]))
        return imaginary, -real

    return turned


def _sinh(z: Doubles) -> Doubles:
    return _hyperbolic(z, "sinh", "cosh")


def _cosh(z: Doubles) -> Doubles:
    return _hyperbolic(z, "cosh", "sinh")


def _tanh(z: Doubles) -> Doubles:
    """(tanh x + i tan y) / (1 + i tanh x tan y)."""
    height = function("tanh", z[0])
    slope = function("sin", z[1]) / function("cos", z[1])
    one = torch.ones_like(height)
    return _over((height, slope), (one, height * slope))


def _sigmoid(z: Doubles) -> Doubles:
    real, imaginary = _exponential((-z[0], -z[1]))
    one = (torch.ones_like(real), torch.zeros_like(imaginary))
    return _over(one, (1 + real, imaginary))


def _reciprocal(z: Doubles) -> Doubles:
    return _over((torch.ones_like(z[0]), torch.zeros_like(z[1])), z)


def _tanh_slope(gradient: Doubles, y: Doubles) -> Doubles:
    real, imaginary = _times(y, y)
    return _times(gradient, (1 - real, imaginary))


def _sigmoid_slope(gradient: Doubles, y: Doubles) -> Doubles:
    real, imaginary = _times(y, (1 - y[0], -y[1]))
    return _times(gradient, (real, -imaginary))


_FORMULAS: dict[str, Callable[..., Any]] = {
    "reciprocal": _reciprocal, "abs": _length, "angle": _angle, "sgn": _sign,
    "exp": _exponential, "log": _logarithm, "sqrt": _root, "pow": _power, "sinh": _sinh,
    "cosh": _cosh, "sin": _turned(_sinh), "cos": lambda z: _cosh((-z[1], z[0])), "tanh": _tanh,
    "sigmoid": _sigmoid, "tanh_backward": _tanh_slope, "sigmoid_backward": _sigmoid_slope,
}  # fmt: skip


def _divided(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Both parts of a number are divided by a real one, which keeps what stands behind them."""
    by = args[1]
    if isinstance(by, complex) or (isinstance(by, torch.Tensor) and by.dtype.is_complex):
        return _computed(_over)(func, args, options)
    shape = torch.broadcast_shapes(*(each.shape for each in tables.tensors_in(args)))
    source = torch.view_as_real(in_mode(torch.resolve_conj, args[0])).expand(*shape, 2)
    found = [in_mode(torch.div, part, by) for part in source.unbind(-1)]
    result = func(*args, **options)
    for into, part in zip(torch.view_as_real(result).unbind(-1), found):
        if into.numel():
            narrow(wide(part), into)
            assign(into, part)
    return result


for _name, _formula in _FORMULAS.items():
    complex_numbers.enter(_name, _computed(_formula))
complex_numbers.enter("div", _divided)
