"""Values that stand behind tensors that are put together."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
import torch.distributed.fsdp  # which defines its operators
from simmesh._core.exact import Values, carried, keep

from exact_fractions import elements, fractions
from simmesh.torch.exact.mode import exact_operators

THIRD = Fraction(1, 3)


def kept(first: int, *shape: int) -> torch.Tensor:
    """A tensor behind whose elements stand thirds of numbers from ``first`` on."""
    tensor = torch.zeros(shape)
    numbers = torch.arange(first, first + tensor.numel(), dtype=torch.float64)
    keep(tensor, Values.of(numbers).divided(3))
    return tensor


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_joined_parts_keep_their_values(dim: int) -> None:
    """If this fails, the parts of a cat are given each other's values."""
    shapes = [[2, 3, 4] for _ in range(3)]
    shapes[1][dim], shapes[2][dim] = 1, 5
    numbers, parts, first = [], [], 1
    for shape in shapes:
        part = kept(first, *shape)
        parts.append(part)
        numbers.append(torch.arange(first, first + part.numel()).view(shape))
        first += part.numel()
    expected = [int(each) * THIRD for each in torch.cat(numbers, dim).flatten()]
    with exact_operators():
        assert fractions(torch.cat(parts, dim)) == expected
        assert fractions(torch.cat(parts, dim).transpose(0, 1).contiguous().transpose(0, 1)) == (
            expected
        )


def test_parts_of_other_kinds_are_joined() -> None:
    """If this fails, plain parts, other divisors or roots change what is behind their neighbours,
    or a root is read as what is under it.
    """
    part, plain, root = kept(1, 3), torch.randn(3), torch.zeros(2)
    sevenths = torch.zeros(3)
    keep(sevenths, Values.of(torch.arange(1.0, 4.0)).divided(7))
    keep(root, Values.of(torch.tensor([2.0, 3.0])).root())
    with exact_operators():
        assert fractions(torch.cat([part, plain])) == fractions(part) + elements(plain)
        mixed = torch.cat([sevenths, part, plain])
        assert fractions(mixed) == fractions(sevenths) + fractions(part) + elements(plain)
        with_root = torch.cat([part, root])
        assert fractions(with_root) == fractions(part) + elements(root)
        assert carried(torch.cat([root, root])).is_root


def test_chunks_of_gradients_are_laid_out_by_rank() -> None:
    """If this fails, FSDP2 reduces exact gradients of other rows than it reduces elements of, or
    something stands behind the rows that fill up.
    """
    first, second, plain = kept(1, 5, 2), kept(11, 3), torch.randn(1, 2)
    out = torch.zeros(3, 2 * 2 + 1 + 2)
    keep(out, Values.of(torch.ones(21)).divided(7))
    with exact_operators():
        torch.ops.fsdp.chunk_cat([first, second, plain], 0, 3, out=out)
        found = torch.tensor([float(each) for each in fractions(out)]).view(out.shape)
    nothing = [Fraction(0)] * 2
    a, b = fractions(first), fractions(second)
    assert fractions(out) == [
        *a[:4], b[0], *elements(plain),
        *a[4:8], b[1], *nothing,
        *a[8:], *nothing, b[2], *nothing,
    ]  # fmt: skip
    assert torch.equal(found, out)
