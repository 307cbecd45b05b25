"""Records of exact values behind the elements of a storage."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from simmesh._core.exact import Record, Values

from exact_fractions import DTYPES, same_bits


def thirds(count: int, dtype: torch.dtype = torch.float32) -> Values:
    return Values.of(torch.arange(1, count + 1, dtype=dtype)).divided(3)


def record_of(tensor: torch.Tensor) -> Record:
    return Record(tensor.untyped_storage().nbytes())


def fractions(values: Values | None) -> list[Fraction]:
    assert values is not None
    return [Fraction(*values.ratio(index)) for index in range(values.count)]


def test_views_read_what_was_written() -> None:
    """If this fails, a view of a storage finds other values than its elements'."""
    for dtype in DTYPES:
        whole = torch.zeros(4, 6, dtype=dtype)
        record = record_of(whole)
        assert record.read(whole) is None
        record.write(whole, thirds(24))
        assert torch.equal(whole, (torch.arange(1.0, 25).double() / 3).to(dtype).view(4, 6))
        all_ = [Fraction(n, 3) for n in range(1, 25)]
        assert fractions(record.read(whole)) == all_
        assert fractions(record.read(whole.t()[1])) == all_[1::6]
        assert fractions(record.read(whole[2:, 3])) == [all_[15], all_[21]]
        assert fractions(record.read(whole.view(-1)[5:9])) == all_[5:9]
        assert fractions(record.read(whole[1, 1].expand(3))) == [all_[7]] * 3
        assert record.read(whole[:0]) is None


def test_writes_through_strides() -> None:
    """If this fails, values stand behind other elements than those that were written."""
    whole = torch.zeros(3, 4)
    record = record_of(whole)
    record.write(whole[:, 1], thirds(3))
    record.write(whole.t()[3], thirds(3).scaled(2.0))
    assert same_bits(whole[:, 1], torch.tensor([1 / 3, 2 / 3, 1.0]))
    expected = [[Fraction(0)] * 4 for _ in range(3)]
    for row in range(3):
        expected[row][1] = Fraction(row + 1, 3)
        expected[row][3] = Fraction(2 * (row + 1), 3)
    assert fractions(record.read(whole)) == [x for row in expected for x in row]


def test_values_are_kept_behind_elements_that_are_there() -> None:
    """If this fails, keep writes elements, or keeps a value behind another one's element."""
    whole = torch.tensor([1 / 3, 2 / 3, 5.0, 4 / 3])
    before = whole.clone()
    record = record_of(whole)
    record.keep(whole, thirds(4))
    assert same_bits(whole, before)
    assert fractions(record.read(whole)) == [Fraction(1, 3), Fraction(2, 3), 5, Fraction(4, 3)]


def test_other_writes_end_values() -> None:
    """If this fails, a value outlives its element."""
    whole = torch.zeros(4)
    record = record_of(whole)
    record.write(whole, thirds(4))
    whole[1] = 5.0
    whole.data[3] = -0.0
    assert fractions(record.read(whole)) == [Fraction(1, 3), 5, 1, 0]
    read = record.read(whole)
    assert read is not None
    assert read.equals(whole)  # -0 too
    record.drop(whole[:1])
    assert fractions(record.read(whole[:2]) or Values.of(whole[:2])) == [
        Fraction(whole[0].item()),
        5,
    ]
    assert fractions(record.read(whole[1:]) or Values.of(whole[1:])) == [5, 1, 0]
    record.drop(whole[2:3])
    assert record.read(whole[1:]) is None
    record.write(whole, thirds(4))
    record.write(whole, Values.of(torch.ones(4)))
    assert record.read(whole) is None


def test_elements_of_several_writes() -> None:
    """If this fails, a bucket doesn't find the values of its parts."""
    bucket = torch.zeros(10, dtype=torch.float64)
    record = record_of(bucket)
    bucket[9] = 7.5
    record.write(bucket[:3], thirds(3))
    record.write(bucket[3:6], thirds(3).divided(5))
    wide = Values.of(torch.tensor([1e60, 1.0, -3.0], dtype=torch.float64))
    wide = wide.plus(wide.times(wide)).plus(thirds(3).scaled(3.0).scaled(2.0**-90))
    record.write(bucket[6:9], wide)
    expected = [Fraction(n, 3) for n in (1, 2, 3)] + [Fraction(n, 15) for n in (1, 2, 3)]
    expected += [*fractions(wide), Fraction(7.5)]
    assert fractions(record.read(bucket)) == expected
    assert fractions(record.read(bucket[2:7])) == expected[2:7]


def test_roots_are_kept() -> None:
    """If this fails, a norm is read as its rounded element."""
    norms = torch.zeros(3)
    record = record_of(norms)
    record.write(norms[:2], Values.of(torch.tensor([2.0, 4.0])).root())
    assert same_bits(norms[:2], torch.tensor([math.sqrt(2.0), 2.0]))
    norms[2] = 3.0
    read = record.read(norms)
    assert read is not None
    assert read.is_root
    assert fractions(read.square()) == [2, 4, 9]
    norms[2] = -3.0  # no root, so the others are read as their elements
    assert record.read(norms) is None
    record.write(norms[2:], thirds(1))
    assert fractions(record.read(norms)) == [Fraction(norms[0].item()), 2, Fraction(1, 3)]


def test_elements_of_other_sizes() -> None:
    """If this fails, bytes that were written as another dtype keep a value."""
    whole = torch.zeros(4, dtype=torch.float64)
    halves = whole.view(torch.float32)
    record = record_of(whole)
    record.write(whole, thirds(4))
    record.write(halves[2:4], thirds(2))
    assert fractions(record.read(halves[2:4])) == [Fraction(1, 3), Fraction(2, 3)]
    read = fractions(record.read(whole))
    assert read[0] == Fraction(1, 3)
    assert read[1] == Fraction(whole[1].item())
    record.drop(whole)
    assert record.read(whole) is None
    assert record.read(halves) is None


def test_memory_is_given_back() -> None:
    """If this fails, values of elements that were written again stay."""
    whole = torch.zeros(1000)
    record = record_of(whole)
    record.write(whole, thirds(1000))
    after_one = record.nbytes
    assert 16_000 < after_one < 40_000
    for _ in range(20):
        record.write(whole, thirds(1000))
    assert record.nbytes == after_one
    record.drop(whole)
    assert record.nbytes < after_one - 7_000


def test_storages_that_grow() -> None:
    """If this fails, a storage that was resized has no room for values."""
    whole = torch.zeros(2)
    record = record_of(whole)
    record.write(whole, thirds(2))
    whole.untyped_storage().resize_(0)
    whole.untyped_storage().resize_(40)
    larger = torch.empty(0).set_(whole.untyped_storage(), 0, (10,))
    record.write(larger, thirds(10))
    assert fractions(record.read(larger)) == [Fraction(n, 3) for n in range(1, 11)]


def test_counts_must_agree() -> None:
    """If this fails, values are written beyond their elements."""
    whole = torch.zeros(2)
    with pytest.raises(ValueError, match="expected 3 elements, got 2"):
        record_of(whole).write(whole, thirds(3))
