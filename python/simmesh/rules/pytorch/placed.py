"""Tensors of the ranks under PyTorch's own placements: cutting a whole tensor, and joining pieces.

Cuts are PyTorch's (``_split_tensor``). The terms of a partial tensor are drawn such that they
reduce to the whole one exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor.placement_types import Partial, Placement, Replicate, _MaskPartial

from simmesh.rules.pieces import REDUCTIONS, same

Coordinate = tuple[int, ...]
OfRanks = dict[Coordinate, Tensor]

# Terms are multiples of 1/16 below 8 in magnitude, so sums of few of them are exact.
_TERM_RANGE = 128
_TERM_UNIT = 16.0


class Unsupported(Exception):
    """A placement that can't be made or read by values here."""


def _random_terms(like: Tensor, generator: torch.Generator) -> Tensor:
    drawn = torch.randint(-_TERM_RANGE, _TERM_RANGE + 1, list(like.shape), generator=generator)
    if like.dtype == torch.bool:
        return drawn > 0
    if like.is_floating_point() or like.is_complex():
        return (drawn / _TERM_UNIT).to(like.dtype)
    return (drawn % 7 - 3).to(like.dtype)


def _terms_of_sum(tensor: Tensor, count: int, generator: torch.Generator) -> list[Tensor]:
    others = [_random_terms(tensor, generator) for _ in range(count - 1)]
    return [reduce(torch.sub, others, tensor), *others]


def _extremes(tensor: Tensor, count: int, generator: torch.Generator, sign: int) -> list[Tensor]:
    """Each element lies on one rank, and the other ranks hold something above it or below it."""
    holder = torch.randint(0, count, list(tensor.shape), generator=generator)
    return [
        torch.where(
            holder == rank, tensor, tensor + sign * (_random_terms(tensor, generator).abs() + 1)
        )
        for rank in range(count)
    ]


def terms(
    tensor: Tensor, placement: Partial, count: int, generator: torch.Generator
) -> list[Tensor]:
    """The tensors of ``count`` ranks whose reduction is the tensor."""
    if tensor.dtype == torch.bool:
        raise Unsupported("bools have no terms")
    if type(placement) is not Partial:
        raise Unsupported(f"an input of {placement}")
    if placement.reduce_op == "sum":
        return _terms_of_sum(tensor, count, generator)
    if placement.reduce_op == "avg":
        return _terms_of_sum(tensor * count, count, generator)
    if placement.reduce_op in ("min", "max"):
        if tensor.is_complex():
            raise Unsupported("complex numbers have no order")
        return _extremes(tensor, count, generator, 1 if placement.reduce_op == "min" else -1)
    if placement.reduce_op == "product":
        signs = [1 - 2 * (_random_terms(tensor, generator) > 0).to(tensor.dtype)] * 2
        return [tensor * signs[0], signs[1]] + [torch.ones_like(tensor)] * (count - 2)
    raise Unsupported(f"an input of {placement}")


def cut(
    tensor: Tensor, placements: Sequence[Placement], mesh: Sequence[int], generator: torch.Generator
) -> OfRanks:
    """The tensor of each rank. A mask partial is as if replicated; a rank masks it itself."""
    ranks: OfRanks = {(): tensor}
    for placement, count in zip(placements, mesh):
        spread: OfRanks = {}
        for coordinate, held in ranks.items():
            for rank, piece in enumerate(_cut_once(held, placement, count, generator)):
                spread[(*coordinate, rank)] = piece
        ranks = spread
    return ranks


def _cut_once(
    tensor: Tensor, placement: Placement, count: int, generator: torch.Generator
) -> Sequence[Tensor]:
    if isinstance(placement, (Replicate, _MaskPartial)):
        return [tensor] * count
    if isinstance(placement, Partial):
        if count == 1:
            return [tensor]
        return terms(tensor, placement, count, generator)
    return _split(tensor, placement, count)


def is_cut(placement: Placement) -> bool:
    """True for shards, plain and strided."""
    return hasattr(placement, "_split_tensor")


def _split(tensor: Tensor, placement: Placement, count: int) -> list[Tensor]:
    pieces, _ = placement._split_tensor(tensor, count, with_padding=False, contiguous=False)
    return list(pieces)


_REDUCTIONS: dict[str, Callable[[Sequence[Tensor]], Any]] = {
    **REDUCTIONS,
    "product": lambda terms: reduce(torch.mul, terms),
    "band": lambda terms: reduce(torch.bitwise_and, terms),
    "bor": lambda terms: reduce(torch.bitwise_or, terms),
    "bxor": lambda terms: reduce(torch.bitwise_xor, terms),
}


class DoesNotFit(Exception):
    """The ranks' tensors don't lie as a placement says. The text says how."""


def joined(line: Sequence[Tensor], placement: Placement) -> Tensor:
    """Returns what the tensors along a mesh dim stand for. Raises DoesNotFit."""
    if isinstance(placement, Replicate):
        return _replicated(line)
    if isinstance(placement, Partial):
        return _reduced(line, placement)
    return _assembled(line, placement)


def _replicated(line: Sequence[Tensor]) -> Tensor:
    for rank, tensor in enumerate(line):
        if tensor.shape != line[0].shape:
            raise DoesNotFit(
                f"rank 0 holds the shape {list(line[0].shape)}, rank {rank} {list(tensor.shape)}"
            )
        if not bool(same(line[0], tensor).all()):
            raise DoesNotFit(f"ranks 0 and {rank} hold different values")
    return line[0]


def _reduced(line: Sequence[Tensor], placement: Partial) -> Tensor:
    shapes = sorted({tuple(tensor.shape) for tensor in line})
    if len(shapes) > 1:
        raise DoesNotFit(f"the terms have the shapes {', '.join(map(str, map(list, shapes)))}")
    if hasattr(placement, "norm_type"):
        if len(line) == 1:
            return line[0]
        powers = [placement._pre_reduce_transform(tensor) for tensor in line]
        result: Tensor = placement._post_reduce_transform(reduce(torch.add, powers))
        return result
    operation = placement.reduce_op
    if line[0].dtype == torch.bool and operation in ("sum", "max", "avg"):
        return reduce(torch.logical_or, line)
    if line[0].dtype == torch.bool and operation in ("product", "min"):
        return reduce(torch.logical_and, line)
    if operation not in _REDUCTIONS:
        raise Unsupported(f"an output of {placement}")
    try:
        result = _REDUCTIONS[operation](line)
    except (TypeError, RuntimeError) as error:
        raise DoesNotFit(f"{line[0].dtype} has no {placement}: {error}") from None
    return result


def _assembled(line: Sequence[Tensor], placement: Any) -> Tensor:
    dim = placement.dim
    if dim >= min(tensor.dim() for tensor in line):
        raise DoesNotFit(f"the result has no dim {dim}")
    rests = {(*t.shape[:dim], *t.shape[dim + 1 :]) for t in line}
    shapes = ", ".join(str(list(tensor.shape)) for tensor in line)
    if len(rests) > 1:
        raise DoesNotFit(f"the pieces have the shapes {shapes}")
    size = sum(tensor.shape[dim] for tensor in line)
    places = _split(torch.arange(size), type(placement)(0, **_options(placement)), len(line))
    if [len(each) for each in places] != [tensor.shape[dim] for tensor in line]:
        raise DoesNotFit(f"the pieces have the shapes {shapes}, not those of {placement}")
    order = torch.empty(size, dtype=torch.int64)
    order[torch.cat(places)] = torch.arange(size)
    return torch.cat(list(line), dim).index_select(dim, order)


def _options(placement: Any) -> dict[str, int]:
    factor = getattr(placement, "split_factor", None)
    return {} if factor is None else {"split_factor": factor}


def is_norm(placement: Placement) -> bool:
    """True for PyTorch's partial p-norm, whose reduction takes powers and a root."""
    return hasattr(placement, "norm_type")
