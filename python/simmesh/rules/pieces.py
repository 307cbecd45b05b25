"""The tensors of the ranks along a mesh dim, and the whole tensor that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from simmesh.rules.rule import RulePlacement
from simmesh.rules.sizes import chunks_of, strided_indices


def chunks(tensor: Tensor, dim: int, count: int) -> list[Tensor]:
    """The pieces of a shard: those of torch.chunk, and empty ones for the ranks that get none."""
    parts = chunks_of(range(tensor.shape[dim]), count)
    return [tensor.narrow(dim, part.start, len(part)) for part in parts]


def _strided_pieces(tensor: Tensor, placement: RulePlacement, count: int) -> list[Tensor]:
    size = tensor.shape[placement.dim]
    return [
        tensor.index_select(placement.dim, torch.tensor(indices, dtype=torch.int64))
        for indices in strided_indices(size, count, placement.split_factor)
    ]


def pieces(tensor: Tensor, placement: RulePlacement, count: int) -> list[Tensor]:
    """The tensors of ``count`` ranks, for a placement that isn't partial."""
    if placement.kind == "replicate":
        return [tensor] * count
    if not -tensor.dim() <= placement.dim < tensor.dim():
        raise IndexError(f"[rules] expected a dim below {tensor.dim()} to cut, got {placement}")
    if placement.kind == "shard":
        return chunks(tensor, placement.dim, count)
    return _strided_pieces(tensor, placement, count)


#: Returns what terms stand for, by the name of the reduction.
REDUCTIONS: dict[str, Callable[[Sequence[Tensor]], Any]] = {
    "sum": lambda terms: reduce(torch.add, terms),
    "avg": lambda terms: reduce(torch.add, terms) / len(terms),
    "min": lambda terms: reduce(torch.minimum, terms),
    "max": lambda terms: reduce(torch.maximum, terms),
}


def whole(tensors: Sequence[Tensor], placement: RulePlacement) -> Tensor:
    """Returns what the ranks' tensors stand for. Raises RuntimeError where shapes don't fit."""
    if placement.kind == "replicate":
        return tensors[0]
    if placement.kind == "partial":
        shapes = {tuple(tensor.shape) for tensor in tensors}
        if len(shapes) > 1:
            raise RuntimeError(f"the terms have the shapes {sorted(shapes)}")
        result: Tensor = REDUCTIONS[placement.reduction](tensors)
        return result
    dims = min(tensor.dim() for tensor in tensors)
    if not -dims <= placement.dim < dims:
        raise RuntimeError(f"the result has no dim {placement.dim}")
    joined = torch.cat(list(tensors), placement.dim)
    if placement.kind == "shard":
        return joined
    size = joined.shape[placement.dim]
    order = [
        i for rank in strided_indices(size, len(tensors), placement.split_factor) for i in rank
    ]
    places = torch.empty(size, dtype=torch.int64)
    places[torch.tensor(order, dtype=torch.int64)] = torch.arange(size)
    return joined.index_select(placement.dim, places)


def fits(tensors: Sequence[Tensor], placement: RulePlacement) -> bool:
    """True if ranks hold pieces of the sizes that the placement gives them."""
    if not placement.is_shard:
        return True
    shape, count = whole(tensors, placement).shape, len(tensors)
    dim = placement.dim % len(shape)
    parts: Sequence[Any] = (
        chunks_of(range(shape[dim]), count)
        if placement.kind == "shard"
        else strided_indices(shape[dim], count, placement.split_factor)
    )
    expected = [(*shape[:dim], len(part), *shape[dim + 1 :]) for part in parts]
    return expected == [tuple(tensor.shape) for tensor in tensors]


def same(first: Tensor, second: Tensor) -> Tensor:
    """Elements that are equal; two NaNs are."""
    equal: Tensor = (first == second) | ((first != first) & (second != second))
    return equal


def first_false(elements: Tensor) -> tuple[int, ...] | None:
    """The index of the first element that is false; None where all are true."""
    if bool(elements.all()):
        return None
    return tuple(int(i) for i in (~elements).nonzero()[0])


def difference(expected: Tensor, got: Tensor) -> tuple[int, ...] | None:
    """The index of the first element that differs in a bit; None where none does."""
    if expected.dtype is got.dtype and torch.equal(expected, got):
        return None
    return first_false(same(expected, got))


@contextmanager
def outside_of_modes() -> Iterator[None]:
    """Calls torch's own kernels, for operators that move and compare elements alone."""
    guard = torch._C._DisableTorchDispatch()
    try:
        yield
    finally:
        del guard


def repeated(values: Tensor, shape: Sequence[int]) -> Tensor:
    """The values of a tensor, repeated to another shape."""
    count = int(torch.Size(shape).numel())
    if count > 0 and values.numel() == 0:
        raise ValueError("[rules] expected an input with values to repeat, got none")
    flat = values.reshape(-1)
    return flat.repeat(-(-count // max(1, flat.numel())))[:count].reshape(list(shape))
