"""Records of exact values, found by the storages of torch's tensors."""

from __future__ import annotations

import gc
from fractions import Fraction

import pytest
import torch
from simmesh._core.exact import (
    Record,
    Values,
    carried,
    drop,
    exact_operand,
    has,
    is_rounded,
    keep,
    kept_nbytes,
    record_of,
    record_to_keep,
    round_parameter,
)

from exact_fractions import DTYPES


def thirds(count: int) -> Values:
    return Values.of(torch.arange(1.0, count + 1)).divided(3)


def fractions(values: Values) -> list[Fraction]:
    return [Fraction(*values.ratio(index)) for index in range(values.count)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_a_storage_share_what_is_kept(dtype: torch.dtype) -> None:
    """If this fails, a view, an alias or a slice of a tensor carries other values."""
    tensor = torch.zeros(2, 3, dtype=dtype)
    keep(tensor, thirds(6))
    behind = [Fraction(number, 3) for number in range(1, 7)]
    assert fractions(carried(tensor)) == behind
    assert fractions(carried(tensor.t()[1])) == behind[1::3]
    assert fractions(carried(tensor.detach()[1])) == behind[3:]
    assert fractions(carried(torch.nn.Parameter(tensor))) == behind
    assert isinstance(record_of(tensor[1:]), Record)
    drop(tensor[0])
    assert fractions(carried(tensor))[3:] == behind[3:]
    assert fractions(carried(tensor[0])) == [Fraction(each) for each in tensor[0].tolist()]


def test_values_that_are_their_elements_need_no_record() -> None:
    """If this fails, each operator costs a record."""
    tensor = torch.zeros(5)
    keep(tensor, Values.of(torch.ones(5)))
    assert torch.equal(tensor, torch.ones(5))
    assert not has(tensor)
    assert record_of(tensor) is None
    keep(tensor, thirds(5))
    assert has(tensor)
    keep(tensor, Values.of(torch.ones(5)))
    assert fractions(carried(tensor)) == [Fraction(1)] * 5


def test_a_parameter_carries_nothing() -> None:
    """If this fails, a parameter is more than its rounded elements."""
    tensor = torch.zeros(4)
    keep(tensor, thirds(4))
    assert not is_rounded(tensor)
    round_parameter(tensor)
    assert is_rounded(tensor.view(2, 2))
    assert not has(tensor)
    keep(tensor, thirds(4))
    assert record_to_keep(tensor) is None
    assert fractions(carried(tensor)) == [Fraction(each) for each in tensor.tolist()]


def test_roots_are_moved_and_read_rounded() -> None:
    """If this fails, arithmetic reads a root that stands for the sum under it."""
    tensor = torch.zeros(2)
    keep(tensor, thirds(2).root())
    assert carried(tensor).is_root
    assert not exact_operand(tensor).is_root
    assert fractions(exact_operand(tensor)) == [Fraction(each) for each in tensor.tolist()]


def test_a_storage_of_another_size_begins_anew() -> None:
    """If this fails, values of a storage that was resized stand behind new elements."""
    tensor = torch.zeros(4)
    keep(tensor, thirds(4))
    tensor.untyped_storage().resize_(32)
    assert record_of(tensor) is None
    assert fractions(carried(tensor)) == [Fraction(each) for each in tensor.tolist()]


def test_records_end_with_their_storages() -> None:
    """If this fails, a program's memory grows with each tensor that it drops, or a new tensor gets
    the values of one that had its address.
    """
    gc.collect()
    before = kept_nbytes()
    tensors = [torch.zeros(64) for _ in range(300)]
    for tensor in tensors:
        keep(tensor, thirds(64))
    assert kept_nbytes() >= before + 300 * 64 * 8
    del tensors, tensor
    assert kept_nbytes() == before
    assert not any(has(torch.zeros(64)) for _ in range(300))


def test_other_dtypes_keep_nothing() -> None:
    """If this fails, integers get a record, or lose the one that is kept for their bytes."""
    floats = torch.zeros(4)
    assert record_to_keep(torch.zeros(4, dtype=torch.int64)) is None
    keep(floats, thirds(4))
    assert record_to_keep(floats.view(torch.int32)) is not None
    drop(floats.view(torch.int32)[:2])
    assert fractions(carried(floats))[2:] == [Fraction(3, 3), Fraction(4, 3)]
    assert fractions(carried(floats[:1])) == [Fraction(floats[0].item())]
    with pytest.raises(TypeError, match="expected float64"):
        keep(torch.zeros(4, dtype=torch.int64), thirds(4))
    with pytest.raises(ValueError, match="got 4"):
        keep(floats, thirds(3))
