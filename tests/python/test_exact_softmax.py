"""Softmax and its gradient in C++ have the bits of their compositions in Python."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from simmesh._core.exact import enter_operator, run_operator

from simmesh.torch.exact import tables
from simmesh.torch.exact.families import load
from simmesh.torch.exact.mode import forget

ATEN = torch.ops.aten
SOFTMAX, GRADIENT = ATEN._softmax.default, ATEN._softmax_backward_data.default
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SHAPES = ((1,), (7,), (3, 5), (2, 3, 4), (4, 1), (1, 64), (2, 1, 3))


def by_form(func: Any, args: tuple[Any, ...]) -> Any:
    """The result of the form in C++; None where it leaves the call to others."""
    enter_operator(func, "formed", func._op, lambda *_: None, None, tables.name_of(func))
    try:
        return run_operator(func, args, {})
    finally:
        forget(func)


def by_handler(func: Any, args: tuple[Any, ...]) -> Any:
    load()
    entry = tables.entry_of(func)
    assert entry is not None and entry.handler is not None
    return entry.handler(func, args, {})


def has_bits_of(one: torch.Tensor, other: torch.Tensor) -> bool:
    words = {8: torch.int64, 4: torch.int32, 2: torch.int16}[one.element_size()]
    return one.dtype == other.dtype and torch.equal(one.view(words), other.view(words))


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_has_the_bits_of_its_composition(dtype: torch.dtype) -> None:
    """Would fail if a sum over a row were rounded twice, or an underflow had another sign."""
    torch.manual_seed(7)
    for scale in (0.0, 1.0, 30.0, 300.0):
        for shape in SHAPES:
            x = (scale * torch.randn(shape, dtype=torch.float64)).to(dtype)
            if shape[-1] > 2:
                x[..., 1] = float("-inf")
            args: tuple[Any, ...] = (x, len(shape) - 1, False)
            found, expected = by_form(SOFTMAX, args), by_handler(SOFTMAX, args)
            assert has_bits_of(found, expected), (scale, shape)
            g = (torch.randn(shape, dtype=torch.float64) * (1 + scale)).to(dtype)
            args = (g, found, -1, dtype)
            found, expected = by_form(GRADIENT, args), by_handler(GRADIENT, args)
            assert has_bits_of(found, expected), (scale, shape)


def test_gradients_have_the_sign_of_zeros_that_are_rounded_once() -> None:
    """Would fail if the form lost the sign of a product that underflows."""
    y = torch.tensor([[0.0, 1e-40, 0.25, 0.75]])
    g = torch.tensor([[-9.0, -1e-9, 1.0, -2.0]])
    for dtype in DTYPES:
        args = (g.to(dtype), y.to(dtype), 1, dtype)
        found = by_form(GRADIENT, args)
        assert has_bits_of(found, by_handler(GRADIENT, args))
        assert found[0, 0] == 0 and torch.signbit(found[0, 0])


def test_other_calls_are_left_to_others() -> None:
    """Would fail if a form computed a call whose bits it doesn't know."""
    x = torch.randn(3, 4)
    args: tuple[Any, ...]
    for args in (
        (x, 0, False),
        (x.t(), 1, False),
        (torch.tensor(1.0), 0, False),
        (torch.empty(0, 4), 1, False),
        (torch.full((2, 2), float("-inf")), 1, False),
        (torch.tensor([[1.0, float("nan")]]), 1, False),
        (torch.tensor([[float("inf"), 1.0]]), 1, False),
        (torch.randn(2, 2, dtype=torch.complex64), 1, False),
    ):
        assert by_form(SOFTMAX, args) is None
    y = x.softmax(1)
    for args in (
        (y.t(), y.t(), 1, y.dtype),
        (y, y, 0, y.dtype),
        (y * float("inf"), y, 1, y.dtype),
        (y, y[:, :2], 1, y.dtype),
    ):
        assert by_form(GRADIENT, args) is None
