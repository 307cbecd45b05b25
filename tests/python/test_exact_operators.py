"""Operators that are computed in one call: what they write, and what stands behind it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable

import pytest
import torch
from simmesh._core.exact import (
    Values,
    add_into,
    add_product_into,
    added,
    carried,
    divide_into,
    keep,
    mean_into,
    move_behind,
    multiplied,
    multiplied_matrices,
    multiply_into,
    product,
    product_into,
    sum_into,
)

from exact_fractions import DTYPES, elements, fractions


def kept(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor with thirds behind its elements."""
    tensor = torch.zeros(shape, dtype=dtype)
    count = tensor.numel()
    keep(tensor, Values.of(torch.arange(1.0, count + 1)).divided(3))
    return tensor


def rounded(values: list[Fraction], like: torch.Tensor) -> torch.Tensor:
    """Sums of thirds of small integers, rounded by float64 division."""
    doubles = torch.tensor([value.numerator / value.denominator for value in values])
    return doubles.double().to(like.dtype).view(like.shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products_of_elements(dtype: torch.dtype) -> None:
    """If this fails, an operator reads rounded elements where exact ones stand, or broadcasts
    wrongly.
    """
    one, row = kept(2, 3, dtype=dtype), kept(3, dtype=dtype)
    a, b = fractions(one), 2 * fractions(row)
    out = torch.empty(2, 3, dtype=dtype)
    assert add_into(out, one, row, -2.0)
    assert fractions(out) == [x - 2 * y for x, y in zip(a, b)]
    assert multiply_into(out, one, row)
    assert fractions(out) == [x * y for x, y in zip(a, b)]
    assert multiply_into(out, one, 1 / 7)
    assert fractions(out) == [x / 7 for x in a]
    assert divide_into(out, one.t(), 5) is True
    assert sorted(fractions(out)) == [x / 5 for x in a]
    assert add_into(one, one, 1)
    assert fractions(one) == [x + 1 for x in a]


def test_a_single_value_is_repeated() -> None:
    """If this fails, a result of two single operands is one element."""
    out = torch.empty(2, 2)
    assert add_into(out, kept(1), kept(1, 1))
    assert fractions(out) == [Fraction(2, 3)] * 4


def test_sums_over_dims() -> None:
    """If this fails, a sum over dims takes other elements, or a mean another count."""
    tensor = kept(2, 3, 4)
    values = fractions(tensor)
    out = torch.empty(2, 4)
    assert sum_into(out, tensor, [1])
    assert fractions(out) == [
        sum((values[12 * i + 4 * j + k] for j in range(3)), Fraction())
        for i in range(2)
        for k in range(4)
    ]
    out = torch.empty(4)
    assert mean_into(out, tensor, [0, -2], False)
    assert fractions(out) == [sum(values[k::4], Fraction()) / 6 for k in range(4)]
    whole = torch.empty(())
    assert sum_into(whole, tensor)
    assert fractions(whole) == [sum(values, Fraction())]
    assert not sum_into(torch.empty(3), tensor, [0, 2])


def test_results_are_made_where_operands_are_alike() -> None:
    """If this fails, a new result has another shape or dtype than torch's, or other values."""
    one, other = kept(2, 3), kept(2, 3)
    values = fractions(one)
    made = added(one, other, 3.0)
    assert fractions(made) == [4 * each for each in values]
    assert fractions(multiplied(one, 2)) == [2 * each for each in values]
    assert added(one, kept(3)) is None
    assert added(one, other.double()) is None
    assert multiplied(one.t(), other.t()) is None
    assert multiplied(one, torch.ones(2, 3, dtype=torch.int64)) is None
    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    out = torch.empty(2, 3, 5)
    assert product_into(out, a, b)
    made = multiplied_matrices(a, b)
    assert torch.equal(made, out)
    assert fractions(made) == fractions(out)
    assert multiplied_matrices(a, b.double()) is None
    assert multiplied_matrices(a, a) is None


def test_products_of_matrices() -> None:
    """If this fails, a product reads more than rounded elements, or isn't kept unrounded."""
    a, b, bias = kept(3, 5), torch.randn(5, 2), kept(2)
    out = torch.empty(3, 2)
    assert product_into(out, a, b)
    values = product(a, b)
    exact = [Fraction(*values.ratio(index)) for index in range(values.count)]
    assert fractions(out) == exact
    assert add_product_into(out, bias, a, b)
    assert fractions(out) == [x + y for x, y in zip(exact, 3 * fractions(bias))]
    batch = torch.empty(2, 3, 2)
    assert product_into(batch, a.expand(2, 3, 5), b.expand(2, 5, 2))
    assert fractions(batch) == 2 * exact


def test_copies_move_what_is_behind() -> None:
    """If this fails, a copy loses exact values, or keeps those of former elements."""
    source, target = kept(2, 3), torch.zeros(3, 2)
    values = fractions(source)
    target.copy_(source.t())
    assert move_behind(target, source.t())
    assert fractions(target.t()) == values
    assert move_behind(target, target.clone())
    assert fractions(target) == elements(target)
    assert not move_behind(target, source)
    assert not move_behind(target.double(), target)


def test_parameters_are_read_rounded() -> None:
    """If this fails, what initialised a parameter stands behind it when it is used."""
    parameter, out = torch.nn.Parameter(kept(4)), torch.empty(4)
    assert multiply_into(out, parameter, 2)
    assert fractions(out) == [2 * each for each in elements(parameter.detach())]
    copy = torch.empty(4)
    copy.copy_(parameter.detach())
    assert move_behind(copy, torch.nn.Parameter(kept(4)))
    assert fractions(copy) == elements(copy)


def root_of(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of square roots that stand for what is under them."""
    root = torch.zeros_like(tensor)
    keep(root, carried(tensor).root())
    return root


REFUSED: dict[str, Callable[[torch.Tensor], Any]] = {
    "integers": lambda out: add_into(out, torch.arange(4), out),
    "complex": lambda out: multiply_into(out, torch.zeros(4, dtype=torch.complex64), 2),
    "a meta tensor": lambda out: add_into(out, torch.empty(4, device="meta"), out),
    "a sparse tensor": lambda out: multiply_into(out, torch.ones(4).to_sparse(), 2),
    "another shape": lambda out: add_into(out, torch.ones(3), out),
    "more dims": lambda out: add_into(out, torch.ones(2, 4), out),
    "a text": lambda out: add_into(out, "1", out),
    "a divisor of several elements": lambda out: divide_into(out, out, out),
    "a root": lambda out: divide_into(out, root_of(out), 2),
    "an integer result": lambda out: product_into(torch.empty(2, 2, dtype=torch.int32),
                                                  torch.ones(2, 2), torch.ones(2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_operands_are_left_alone(name: str) -> None:
    """If this fails, an operand that isn't computed here is computed wrongly, or is written."""
    out = kept(4)
    assert REFUSED[name](out) is False
    assert fractions(out) == [Fraction(number, 3) for number in range(1, 5)]
