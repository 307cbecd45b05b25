"""Fourier transforms, in float64: the bits depend on the length alone.

A transform reads rounded elements. A length is split into factors of at most 64, in a fixed order;
the transform of a factor is a product with a matrix of roots of unity, each sum of which is rounded
once, so it doesn't matter where a vector lies or what is transformed beside it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch

from simmesh._core.exact import product
from simmesh.torch.exact import complex_numbers, tables
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.tables import Handler, Operator

#: The real and the imaginary parts, in float64.
Parts = tuple[torch.Tensor, torch.Tensor]

_FACTOR_MAX = 64


def _entered(name: str, handler: Handler) -> None:
    tables.exact("Fourier transforms", name)(handler)
    complex_numbers.enter(name, handler)


def _roots(numbers: torch.Tensor, length: int) -> Parts:
    """exp(2 pi i number / length). The functions see angles of at most an eighth of a turn."""
    eighths = numbers * 8
    octant, rest = eighths // length % 8, eighths % length
    odd = octant % 2 == 1
    angle = torch.where(odd, length - rest, rest).double() * (math.pi / 4) / length
    cos, sin = function("cos", angle), function("sin", angle)
    swaps = (octant == 1) | (octant == 2) | (octant == 5) | (octant == 6)
    real, imaginary = torch.where(swaps, sin, cos), torch.where(swaps, cos, sin)
    real = torch.where((octant >= 2) & (octant < 6), -real, real)
    return real, torch.where(octant >= 4, -imaginary, imaginary)


@lru_cache(maxsize=64)
def _matrix(length: int) -> torch.Tensor:
    """Multiplies real parts beside imaginary parts by exp(2 pi i j k / length)."""
    number = torch.arange(length)
    real, imaginary = _roots(number[:, None] * number % length, length)
    return torch.cat([torch.cat([real, imaginary], 1), torch.cat([-imaginary, real], 1)])


def _divisor(length: int) -> int:
    """The largest factor that is transformed at once; the length where there is none."""
    if length <= _FACTOR_MAX:
        return length
    return next((each for each in range(_FACTOR_MAX, 1, -1) if length % each == 0), length)


def _by_matrix(parts: Parts) -> Parts:
    length = parts[0].shape[-1]
    both = torch.cat(parts, -1)
    found = torch.empty(both.numel() // (2 * length), 2 * length, dtype=torch.float64)
    product(both.reshape(found.shape).contiguous(), _matrix(length)).round_into(found)
    real, imaginary = found.reshape(both.shape).split(length, -1)
    return real.contiguous(), imaginary.contiguous()


def _turned(parts: Parts) -> Parts:
    """The transform over the last dim with the exponent + 2 pi i j k / n, without a scale."""
    length = parts[0].shape[-1]
    factor = _divisor(length)
    if factor == length:
        return _by_matrix(parts)
    rest = length // factor
    columns = [each.unflatten(-1, (factor, rest)).mT.contiguous() for each in parts]
    real, imaginary = (each.mT for each in _by_matrix((columns[0], columns[1])))
    cos, sin = _roots(torch.arange(factor)[:, None] * torch.arange(rest), length)
    inner = (real * cos - imaginary * sin, real * sin + imaginary * cos)
    rows = _turned((inner[0].contiguous(), inner[1].contiguous()))
    return rows[0].mT.flatten(-2).contiguous(), rows[1].mT.flatten(-2).contiguous()


def _transformed(parts: Parts, dim: int, forward: bool) -> Parts:
    real, imaginary = (each.movedim(dim, -1).contiguous() for each in parts)
    # The forward transform is the conjugate of that of the conjugate.
    real, imaginary = _turned((real, -imaginary if forward else imaginary))
    imaginary = -imaginary if forward else imaginary
    return real.movedim(-1, dim), imaginary.movedim(-1, dim)


def _parts(tensor: torch.Tensor) -> Parts:
    if not tensor.dtype.is_complex:
        return wide(tensor), torch.zeros(tensor.shape, dtype=torch.float64)
    raw = torch.view_as_real(tensor.resolve_conj())
    return wide(raw[..., 0]), wide(raw[..., 1])


def _over(tensor: torch.Tensor, dims: list[int], forward: bool) -> Parts:
    parts = _parts(tensor)
    for dim in reversed(dims):
        parts = _transformed(parts, dim, forward)
    return parts


def _scaled(parts: Parts, count: int, normalization: int) -> Parts:
    """Divides by the root of the number of elements (1), or by the number (2)."""
    if normalization == 0:
        return parts
    divisor = float(count) if normalization == 2 else math.sqrt(count)
    return parts[0] / divisor, parts[1] / divisor


def _write(parts: Parts, result: torch.Tensor) -> None:
    for into, part in zip(torch.view_as_real(result).unbind(-1), parts):
        narrow(part.contiguous(), into)


def _count(sizes: torch.Size, dims: list[int]) -> int:
    return math.prod(sizes[dim] for dim in dims)


def _of_complex(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, dims, normalization, forward = args
    result = func(*args, **options)
    if result.numel():
        parts = _over(tensor, dims, forward)
        _write(_scaled(parts, _count(tensor.shape, dims), normalization), result)
    return result


def _of_real(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, dims, normalization, _ = args
    result = func(*args, **options)
    if result.numel():
        parts = _over(tensor, dims, True)
        last = dims[-1]
        half = tuple(each.narrow(last, 0, result.shape[last]) for each in parts)
        _write(_scaled((half[0], half[1]), _count(tensor.shape, dims), normalization), result)
    return result


def _to_real(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, dims, normalization, size = args
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    parts = _parts(tensor)
    for dim in dims[:-1]:
        parts = _transformed(parts, dim, False)
    real, _ = _transformed(_completed(parts, dims[-1], size), dims[-1], False)
    scaled, _ = _scaled((real, real), _count(result.shape, dims), normalization)
    narrow(scaled.contiguous(), result)
    return result


def _completed(parts: Parts, dim: int, size: int) -> Parts:
    """A whole spectrum from its first half: the rest is conjugate, and the ends are real."""
    real, imaginary = (each.movedim(dim, -1)[..., : size // 2 + 1] for each in parts)
    imaginary = imaginary.clone()
    imaginary[..., 0] = 0.0
    if size % 2 == 0:
        imaginary[..., -1] = 0.0
    back = torch.arange(size - 1 - size // 2, 0, -1)
    whole_real = torch.cat([real, real[..., back]], -1)
    whole_imaginary = torch.cat([imaginary, -imaginary[..., back]], -1)
    return whole_real.movedim(-1, dim), whole_imaginary.movedim(-1, dim)


_entered("_fft_c2c", _of_complex)
_entered("_fft_r2c", _of_real)
_entered("_fft_c2r", _to_real)
