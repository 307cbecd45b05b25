"""Exact values, products and sums, against fractions."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import pytest
import torch
from simmesh._core import exact
from simmesh._core.exact import Values

from exact_fractions import (
    DTYPES,
    KINDS,
    numbers,
    rounded,
    rounded_root,
    same_bits,
    tensor,
)

CASES = list(itertools.product(DTYPES, KINDS))


def fractions(values: Values) -> list[Fraction]:
    return [Fraction(*values.ratio(index)) for index in range(values.count)]


def of(elements: list[float], dtype: torch.dtype = torch.float64) -> Values:
    return Values.of(tensor(elements, dtype))


def rounds(values: Values, expected: list[Fraction]) -> bool:
    """Says whether values round to those of fractions in each dtype."""
    for dtype in DTYPES:
        out = torch.full((values.count,), 7, dtype=dtype)
        values.round_into(out)
        wanted = tensor([rounded(value, dtype) for value in expected], dtype)
        if not same_bits(out, wanted) or not values.equals(wanted):
            return False
    return True


def test_elements_are_values() -> None:
    """If this fails, a value is another number than its element, in some dtype or stride."""
    for dtype, kind in CASES:
        elements = numbers(kind, 12, dtype, 1)
        whole = tensor(elements, dtype).view(3, 4)
        assert fractions(Values.of(whole)) == [Fraction(x) for x in elements]
        columns = [Fraction(x) for x in whole.t().flatten().tolist()]
        assert fractions(Values.of(whole.t())) == columns
        row = [Fraction(x) for x in whole[1].tolist()]
        assert fractions(Values.of(whole[1].expand(5, 4))) == row * 5
        assert fractions(Values.of(whole[0, 1])) == [Fraction(elements[1])]
    assert Values.of(torch.empty(0)).count == 0


@pytest.mark.parametrize("kind", KINDS)
def test_linear_operations_are_exact(kind: str) -> None:
    """If this fails, an operation that must be exact rounds, or a result is rounded twice."""
    for dtype in DTYPES:
        a, b = numbers(kind, 40, dtype, 2), numbers(kind, 40, dtype, 3)
        x, y = of(a, dtype), of(b, dtype)
        p, q = [Fraction(value) for value in a], [Fraction(value) for value in b]
        for factor, ratio in ((1.0, 1), (-1.0, -1), (0.1, Fraction(1, 10)), (3.7, 3.7)):
            expected = [u + v * Fraction(ratio) for u, v in zip(p, q)]
            assert rounds(x.plus(y, factor), expected)
            assert fractions(x.plus(y, factor)) == expected
        if dtype is torch.float64 and kind == "subnormal":
            continue  # sums of these and their products have more digits than are kept
        third = [(u + v * w) / 3 for u, v, w in zip(p, q, p)]
        results = x.plus(y.times(x)).divided(3)
        assert fractions(results) == third
        assert rounds(results, third)
        # A value over 3 plus one over 7, times a value over 5.
        mixed = x.divided(3).plus(y.divided(7)).times(x.divided(-5))
        expected = [(u / 3 + v / 7) * u / -5 for u, v in zip(p, q)]
        assert fractions(mixed) == expected
        assert rounds(mixed, expected)


def test_one_value_is_repeated() -> None:
    """If this fails, a scalar operand isn't that of each element."""
    elements = [1.0, 2.0, 1e100]
    x, one = of(elements), of([1e-100])
    assert fractions(x.plus(one)) == [Fraction(v) + Fraction(1e-100) for v in elements]
    assert fractions(one.times(x)) == [Fraction(v) * Fraction(1e-100) for v in elements]
    wide = one.times(one).plus(of([1e20]))
    assert fractions(x.times(wide)) == [
        Fraction(v) * (Fraction(1e-100) ** 2 + Fraction(1e20)) for v in elements
    ]
    with pytest.raises(ValueError, match="expected as many values"):
        x.plus(of([1.0, 2.0]))


def test_scales() -> None:
    """If this fails, 1.0 / N isn't the rational, or a scale doesn't take back a division."""
    x = of([1.0, -7.0])
    for n in (3, 7, 10, 6, 4096, 1000003, 2**32 - 1):
        assert fractions(x.scaled(1.0 / n)) == [Fraction(1, n), Fraction(-7, n)]
        assert fractions(x.scaled(-1.0 / n)) == [Fraction(-1, n), Fraction(7, n)]
        assert fractions(x.divided(n).scaled(n)) == [1, -7]
        assert x.divided(n).scaled(n).divisor == 1
    assert fractions(x.scaled(0.7)) == [Fraction(0.7), -7 * Fraction(0.7)]
    assert fractions(x.divided(0.3)) == [1 / Fraction(0.3), -7 / Fraction(0.3)]
    assert fractions(x.divided(5e-324)) == [1 / Fraction(5e-324), -7 / Fraction(5e-324)]
    assert fractions(x.divided(-1.5e308)) == [1 / Fraction(-1.5e308), 7 / Fraction(1.5e308)]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_exact(kind: str) -> None:
    """If this fails, a sum rounds between its terms, or a term goes to another sum."""
    for dtype in DTYPES:
        a = numbers(kind, 60, dtype, 4)
        terms = [Fraction(x) * Fraction(y) for x, y in zip(a, reversed(a))]
        values = of(a, dtype).times(of(a[::-1], dtype))
        for outer, count, inner in ((1, 60, 1), (3, 5, 4), (60, 1, 1), (2, 1, 30), (12, 5, 1)):
            expected = [
                sum(
                    (terms[(o * count + c) * inner + i] for c in range(count)),
                    Fraction(0),
                )
                for o in range(outer)
                for i in range(inner)
            ]
            assert rounds(values.summed(outer, count, inner), expected)
        index = [(7 * i) % 11 - 1 for i in range(60)]
        sums = [sum((t for t, i in zip(terms, index) if i == k), Fraction(0)) for k in range(12)]
        assert rounds(values.summed_at(torch.tensor(index), 12), sums)
        assert rounds(values.divided(7).summed_at(torch.tensor(index), 12), [s / 7 for s in sums])
    assert fractions(of([]).summed(2, 0, 3)) == [0] * 6
    with pytest.raises(ValueError, match="expected dims of 2 values"):
        of([1.0, 2.0]).summed(1, 3, 1)
    with pytest.raises(IndexError, match="got 12"):
        of([1.0]).summed_at(torch.tensor([12]), 12)


def test_cancelling_sums() -> None:
    """If this fails, large terms that cancel take small ones along."""
    terms = [1e300, 1.0, 1e-300, -1e300, 1e16, -1.0, -1e16]
    for order in itertools.permutations(terms, 7):
        assert fractions(of(list(order)).summed(1, 7, 1)) == [Fraction(1e-300)]


def test_movement() -> None:
    """If this fails, a value changes where it is moved, or comes from another place."""
    wide = of([1e300, 3.0]).plus(of([1e-300, 1e-320])).plus(of([1.0, 2.0]))
    third, plain = of([1.0, -2.0]).divided(3), of([0.5, 0.0, 4.0])
    whole = wide.joined(third, plain)
    expected = fractions(wide) + fractions(third) + fractions(plain)
    assert fractions(whole) == expected
    index = torch.tensor([6, 0, -1, 3, 3, 2, 1])
    assert fractions(whole.taken(index)) == [
        expected[i] if i >= 0 else Fraction(0) for i in index.tolist()
    ]
    assert rounds(whole, expected)
    with pytest.raises(IndexError, match="got 7"):
        whole.taken(torch.tensor([7]))
    with pytest.raises(TypeError, match=r"expected indices of int64, got torch\.int32"):
        whole.taken(torch.tensor([1], dtype=torch.int32))


def test_zeros_have_a_sign_only_as_elements() -> None:
    """If this fails, a moved element changes its sign, or a zero's sign depends on the sharding."""
    minus = torch.tensor([-0.0, 0.0, -1.0])
    own = Values.of(minus)
    assert own.equals(minus)
    assert own.taken(torch.tensor([0, 1, 2])).equals(minus)
    wide = of([1e300]).plus(of([1e-300])).plus(of([1.0]))
    joined = own.joined(wide, of([1.0]).divided(3))
    assert joined.taken(torch.tensor([0, 1, 2])).equals(minus)
    zero = torch.tensor([0.0])
    first = own.taken(torch.tensor([0]))
    for computed in (
        first.plus(first),
        first.scaled(-1.0),
        first.scaled(1.0),
        of([0.0]).scaled(-1.0),
        first.times(first),
        first.divided(-3),
        first.summed(1, 1, 1),
        first.summed_at(torch.tensor([0]), 1),
        first.root(),
        of([1.0]).plus(of([-1.0])),
    ):
        assert computed.equals(zero)
    # A value that isn't zero keeps its sign where it rounds to zero.
    assert of([-1e-300]).equals(torch.tensor([-0.0]))


def test_infinities_and_nans() -> None:
    """If this fails, a value that isn't finite goes on otherwise than in IEEE arithmetic."""
    special = [math.inf, -math.inf, math.nan, 2.0, 0.0, 1e308]
    for a, b in itertools.product(special, special):
        x, y = of([a, 1.0]), of([b, 1.0])
        quotient = (torch.tensor([a], dtype=torch.float64) / b).item()
        for values, expected in (
            (x.plus(y), a + b),
            (x.times(y), a * b),
            (x.joined(y).summed(1, 4, 1), a + b + 2.0),
            (x.divided(b), quotient),
        ):
            out = torch.empty(values.count, dtype=torch.float64)
            values.round_into(out)
            if expected == expected:
                assert out[0].item() == expected
            else:
                assert out[0].view(torch.int64).item() == 0x7FF8000000000000
    tiny = of([5e-324]).times(of([5e-324]))
    assert tiny.times(of([math.inf])).equals(torch.tensor([math.inf]))
    assert of([1e308]).plus(of([1e308])).scaled(0.25).equals(tensor([5e307], torch.float64))
    assert of([math.inf]).summed_at(torch.tensor([1]), 2).equals(torch.tensor([0.0, math.inf]))


def test_roots() -> None:
    """If this fails, a 2-norm is rounded twice, or loses what is under it."""
    for dtype, kind in CASES:
        for seed in range(6):
            a = numbers(kind, 9, dtype, seed)
            values = of(a, dtype)
            under = sum((Fraction(x) ** 2 for x in a), Fraction(0))
            norm = values.times(values).summed(1, 9, 1).root()
            assert norm.is_root
            assert fractions(norm.square()) == [under]
            for other in DTYPES:
                assert norm.equals(tensor([rounded_root(under, other)], other))
                third = tensor([rounded_root(under / 3, other)], other)
                assert norm.divided(math.sqrt(3.0)).equals(third)
                assert norm.square().divided(3).root().equals(third)
                if dtype is torch.float64 and kind == "subnormal":
                    continue  # the square times 0.7 twice has more digits than are kept
                scaled = under * Fraction(0.7) ** 2
                assert norm.scaled(0.7).equals(tensor([rounded_root(scaled, other)], other))
    assert of([4.0, 2.0]).root().joined(of([3.0])).is_root
    assert fractions(of([4.0]).root().joined(of([3.0])).square()) == [4, 9]
    assert not of([4.0]).root().joined(of([-3.0])).is_root
    assert fractions(of([4.0]).root().plus(of([1.0]))) == [3]
    out = torch.empty(3)
    of([-1.0, math.inf, 0.0]).root().round_into(out)
    assert out[0].isnan()
    assert out[1:].tolist() == [math.inf, 0.0]


def test_bounds_of_memory() -> None:
    """If this fails, values grow without bound, or neighbours decide what is rounded."""
    a, b = of([1e300, 1.0]), of([1e-300, 2.0**-60])
    kept = a.plus(b)
    assert fractions(kept) == [Fraction(1e300) + Fraction(1e-300), 1 + Fraction(1, 2**60)]
    # 1e300 + 1e-300 + 1 needs 63 digits of 32 bits, so it is rounded; its neighbour isn't.
    long = kept.plus(of([1.0, 2.0**-120]))
    assert fractions(long) == [
        Fraction(1e300),
        1 + Fraction(1, 2**60) + Fraction(1, 2**120),
    ]
    small = of([5e-324])
    assert fractions(small.times(small).times(small)) == [0]
    # No common multiple below 2^53: both are rounded to float64.
    third = of([1.0]).divided(3**20).plus(of([1.0]).divided(7**17))
    assert fractions(third) == [Fraction(1 / 3**20) + Fraction(1 / 7**17)]
    grown = of([1.0])
    for _ in range(60):
        grown = grown.times(of([0.9])).plus(of([1.0]))
    assert grown.nbytes < 400


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype: torch.dtype) -> None:
    """If this fails, an element of a product isn't the sum of its exact terms."""
    for kind in KINDS:
        a = tensor(numbers(kind, 2 * 3 * 5, dtype, 5), dtype).view(2, 3, 5)
        b = tensor(numbers(kind, 2 * 5 * 4, dtype, 6), dtype).view(2, 5, 4)
        for left, right in ((a, b), (a, b[0]), (a[1], b[1]), (a[0], b), (a, b.mT.contiguous().mT)):
            values = exact.product(left, right)
            expected = []
            batch = max(left.dim(), right.dim()) == 3
            for n in range(2 if batch else 1):
                x = (left[n] if left.dim() == 3 else left).tolist()
                y = (right[n] if right.dim() == 3 else right).tolist()
                for row, column in itertools.product(x, zip(*y)):
                    terms = (Fraction(u) * Fraction(v) for u, v in zip(row, column))
                    expected.append(sum(terms, Fraction(0)))
            assert fractions(values) == expected
            assert rounds(values, expected)
    with pytest.raises(ValueError, match="shapes that go together"):
        exact.product(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ValueError, match="expected 2 or 3 dims"):
        exact.product(torch.ones(2), torch.ones(2, 3))
    assert fractions(exact.product(torch.ones(2, 0), torch.ones(0, 1))) == [0, 0]


def test_functions() -> None:
    """If this fails, a function's bits depend on the place of an element, or are far off."""
    source = torch.linspace(0.1, 0.9, 64, dtype=torch.float64)
    for dtype in DTYPES:
        x = source.to(dtype)
        for name in (
            "exp",
            "log",
            "tanh",
            "sigmoid",
            "erf",
            "sin",
            "cos",
            "sqrt",
            "rsqrt",
            "expm1",
        ):
            whole = torch.empty_like(x)
            exact.apply(name, x, whole)
            wide = getattr(torch, name)(x.double())
            bound = torch.finfo(dtype).eps * wide.abs().max().item()
            assert (whole.double() - wide).abs().max().item() <= bound
            target = torch.zeros(8, 8, dtype=dtype)
            exact.apply(name, x.view(8, 8).t(), target.t())
            assert same_bits(target, whole.view(8, 8))
            for index in (0, 17, 63):
                one = torch.empty((), dtype=dtype)
                exact.apply(name, x[index], one)
                assert same_bits(one, whole[index])
        powers, expected = torch.empty_like(x), x.double() ** 1.5
        exact.apply("power", x, powers, 1.5)
        assert torch.allclose(powers.double(), expected, rtol=torch.finfo(dtype).eps)
        exact.apply("power", x, powers, torch.full_like(x, 1.5))
        assert torch.allclose(powers.double(), expected, rtol=torch.finfo(dtype).eps)
    with pytest.raises(ValueError, match="expected a function, or power, got 'gelu'"):
        exact.apply("gelu", source, source)
    with pytest.raises(ValueError, match="expected an exponent"):
        exact.apply("power", source, source)
    with pytest.raises(TypeError, match=r"got torch\.int64"):
        exact.apply("exp", torch.ones(2, dtype=torch.int64), torch.ones(2))


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_rows(kind: str) -> None:
    """If this fails, a sum is rounded more than once."""
    for dtype in DTYPES:
        source = tensor(numbers(kind, 24, dtype, 7), dtype)
        terms = [Fraction(x) for x in source.tolist()]
        for target_dtype in (torch.float64, dtype):
            target = torch.empty(6, dtype=target_dtype)
            for term, of_element in (
                ("identity", lambda x: x),
                ("square", lambda x: x * x),
                ("absolute", abs),
            ):
                exact.sum_rows(source, 2, 4, 3, target, term)
                sums = [
                    sum((of_element(terms[o * 12 + c * 3 + i]) for c in range(4)), Fraction(0))
                    for o in range(2)
                    for i in range(3)
                ]
                wanted = tensor([rounded(s, target_dtype) for s in sums], target_dtype)
                assert same_bits(target, wanted)
    with pytest.raises(ValueError, match="expected identity, square"):
        exact.sum_rows(source, 2, 4, 3, torch.empty(6), "cube")
    deviations = torch.empty(1, dtype=torch.float64)
    means = torch.tensor([1.5], dtype=torch.float64)
    exact.sum_rows(torch.tensor([1.0, 2.0]), 1, 2, 1, deviations, "squared_deviation", means)
    assert deviations.tolist() == [0.5]


def test_dtypes_that_have_no_values() -> None:
    """If this fails, elements of another dtype are taken for floating ones."""
    for dtype in (torch.int64, torch.bool, torch.int16, torch.float8_e4m3fn):
        with pytest.raises(TypeError, match="expected float64, float32"):
            Values.of(torch.zeros(2, dtype=dtype))


def test_complex_elements_are_two_values() -> None:
    """If this fails, a part of a complex element is lost."""
    elements = torch.tensor([1 + 2j, -3 + 0.5j])
    values = Values.of(elements)
    assert fractions(values) == [1, 2, -3, Fraction(1, 2)]
    out = torch.zeros(2, 2, dtype=torch.complex64)[:, 0]
    values.scaled(0.5).round_into(out)
    assert torch.equal(out, elements / 2)


def test_pickles_are_the_values() -> None:
    """Would fail if a value that one or two doubles can't hold, a divisor, a root or the sign of a
    zero were lost between processes.
    """
    numbers = torch.tensor([1e300, -0.0, 3.0, 1e-300, torch.inf, torch.nan], dtype=torch.float64)
    own = Values.of(numbers)
    small = Values.of(torch.tensor([1.0, 1e-200, 1e-16, 5.0, 1.0, 1.0], dtype=torch.float64))
    for values in (own, own.plus(small), own.plus(small).divided(7), Values.zeros(0),
                   Values.of(numbers.abs()).root()):  # fmt: skip
        copy = pickle.loads(pickle.dumps(values))
        assert copy.count == values.count
        assert (copy.divisor, copy.is_root) == (values.divisor, values.is_root)
        assert copy.nbytes == values.nbytes
        assert pickle.dumps(copy) == pickle.dumps(values)
        element = torch.zeros(values.count, dtype=torch.float64)
        copy.round_into(element)
        assert values.equals(element)
        if not values.is_root and values.count:
            assert copy.ratio(0) == values.ratio(0) and copy.ratio(3) == values.ratio(3)


def test_pickles_that_are_cut_off_are_refused() -> None:
    """Would fail if parts of other lengths were read beyond their ends."""
    state = Values.of(torch.tensor([1e300])).plus(Values.of(torch.tensor([1e-30]))).__getstate__()
    empty = Values.__new__(Values)
    for part, wrong in ((0, state[0] + b"x"), (1, bytes(24)), (2, bytes(16)), (3, b"1234" * 3),
                        (5, 0)):  # fmt: skip
        changed: list[Any] = list(state)
        changed[part] = wrong
        with pytest.raises(ValueError, match="a state of values: expected"):
            empty.__setstate__(tuple(changed))  # type: ignore[arg-type]
