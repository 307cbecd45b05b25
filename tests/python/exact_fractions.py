"""Exact arithmetic of another kind: fractions, and their rounding to a dtype of torch."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import torch
from simmesh._core.exact import carried

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

#: Precision, exponent of the last bit of a subnormal number, and largest number.
_FORMATS = {
    torch.float64: (53, -1074),
    torch.float32: (24, -149),
    torch.bfloat16: (8, -133),
    torch.float16: (11, -24),
}


def fractions(tensor: torch.Tensor) -> list[Fraction]:
    """The exact values behind the elements."""
    values = carried(tensor)
    return [Fraction(*values.ratio(index)) for index in range(values.count)]


def elements(tensor: torch.Tensor) -> list[Fraction]:
    """The elements themselves."""
    return [Fraction(each) for each in tensor.flatten().tolist()]


def rounded(value: Fraction, dtype: torch.dtype) -> float:
    """The element next to a fraction, ties to even; 0.0 for zero."""
    if value == 0:
        return 0.0
    precision, least = _FORMATS[dtype]
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    element = round(magnitude / unit) * unit  # Python rounds ties to even
    largest = Fraction(torch.finfo(dtype).max)
    number = math.inf if element > largest else float(element)
    return math.copysign(number, value)


def rounded_root(value: Fraction, dtype: torch.dtype) -> float:
    """The element next to the square root of a fraction."""
    shift = 4 * 1200
    root = math.isqrt((value.numerator << shift) // value.denominator)
    below = Fraction(root, 1 << shift // 2)
    exact = below * below == value
    # Halfway to the next number of this kind, where the root isn't exact: no tie is missed.
    return rounded(below if exact else below + Fraction(1, 1 << shift // 2 + 1), dtype)


def element_of(number: float, dtype: torch.dtype) -> float:
    """A number as an element."""
    return torch.tensor(number, dtype=torch.float64).to(dtype).item()


def numbers(kind: str, count: int, dtype: torch.dtype, seed: int) -> list[float]:
    """Elements of a kind: near one another, far apart, subnormal, or few and simple."""
    draw = random.Random(f"{kind} {count} {dtype} {seed}")
    precision, least = _FORMATS[dtype]
    highest = math.frexp(torch.finfo(dtype).max)[1] - 1

    def one() -> float:
        if kind == "simple":
            return draw.choice((-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0))
        if kind == "subnormal":
            return math.ldexp(draw.randint(-9, 9), least)
        low, high = (-6, 3) if kind == "near" else (least + precision, highest)
        if precision == 53:  # products of three stay within the digits that values may have
            low, high = max(low, -150), min(high, 150)
        mantissa = draw.choice((-1, 1)) * (
            1 + draw.getrandbits(precision - 1) / 2 ** (precision - 1)
        )
        return math.ldexp(mantissa, draw.randint(low, high))

    return [element_of(one(), dtype) for _ in range(count)]


KINDS = ("simple", "near", "far", "subnormal")


def tensor(elements: Sequence[float], dtype: torch.dtype) -> torch.Tensor:
    """Elements as a tensor."""
    return torch.tensor(elements, dtype=torch.float64).to(dtype)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Says whether two tensors have the same bits, signs of zeros included."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    size = {8: torch.int64, 4: torch.int32, 2: torch.int16}[a.element_size()]
    return bool(torch.equal(a.contiguous().view(size), b.contiguous().view(size)))
