"""The sizes at which a rule is judged: even and uneven pieces, fewer rows than ranks, and none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simmesh.rules.rule import Row, RulePlacement

Shapes = tuple[tuple[int, ...], ...]

# The size of a dim that no placement cuts.
_UNCUT = 3
_PRODUCT_MAX = 2


@dataclass(frozen=True)
class RuleInput:
    """An input of a function.

    ``dims`` has a letter for each dim whose size varies, as in "mk" or ("m", 8), where 8 is a
    fixed size. ``values`` is a tensor whose values, repeated, the input has: indices or a mask;
    None draws floating numbers. ``is_fixed`` keeps sizes where no input has letters, which vary
    else.
    """

    dims: str | Sequence[str | int]
    values: Any = None
    is_fixed: bool = False

    def __post_init__(self) -> None:
        dims = self.dims.replace(" ", "") if isinstance(self.dims, str) else self.dims
        object.__setattr__(self, "dims", tuple(dims))

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape for sizes of the letters."""
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)


def input_of(entry: Any, at: int) -> RuleInput:
    """The input that a caller names by letters, a shape, a tensor or a RuleInput.

    Raises ValueError for anything else.
    """
    if isinstance(entry, (str, RuleInput)):
        read = RuleInput(entry) if isinstance(entry, str) else entry
    elif hasattr(entry, "shape"):
        is_floating = entry.is_floating_point()
        read = RuleInput(tuple(map(int, entry.shape)), None if is_floating else entry)
    else:
        read = RuleInput(entry if isinstance(entry, Sequence) else (entry,))
    for dim in read.dims:
        if not isinstance(dim, str) and not (isinstance(dim, int) and dim >= 0):
            raise ValueError(
                f"[rules] input {at}: expected letters such as 'mk', a shape, a tensor or a "
                f"RuleInput, got {entry!r}"
            )
    return read


def chunks_of(indices: range, count: int) -> list[range]:
    """The pieces of torch.chunk, and empty ones for the ranks that get none."""
    each = -(-len(indices) // count)
    return [indices[rank * each : (rank + 1) * each] for rank in range(count)]


def strided_indices(size: int, count: int, factor: int) -> list[list[int]]:
    """The indices that each rank has of a strided shard."""
    parts = chunks_of(range(size), factor)
    return [[i for part in parts for i in chunks_of(part, count)[rank]] for rank in range(count)]


def size_of_piece(size: int, placement: RulePlacement, count: int, rank: int) -> int:
    """The size of a rank's piece of a dim that a shard cuts."""
    if placement.kind == "shard":
        return len(chunks_of(range(size), count)[rank])
    return len(strided_indices(size, count, placement.split_factor)[rank])


def _letters_cut(inputs: Sequence[RuleInput], rows: Sequence[Row]) -> list[str]:
    """The letters whose sizes are cut by some row, in the order of the inputs."""
    cut: dict[str, None] = {}
    for row in rows:
        for given, placement in zip(inputs, row.inputs):
            if placement.is_shard and placement.dim < len(given.dims):
                dim = given.dims[placement.dim]
                if isinstance(dim, str):
                    cut[dim] = None
    return list(cut)


# The kinds of pieces that ranks get.
PIECES = ("even", "uneven", "few", "none")


def _sizes_to_cut(ranks: int, kinds: Sequence[str]) -> list[int]:
    sizes = {
        "even": {ranks, 2 * ranks},
        "uneven": {2 * ranks - 1},
        "few": {1, ranks - 1, ranks + 1} - {0},
        "none": {0},
    }
    return sorted(set().union(*(sizes[kind] for kind in kinds)))


def shapes_for(
    inputs: Sequence[RuleInput],
    rows: Sequence[Row],
    mesh: Sequence[int],
    kinds: Sequence[str],
    product_max: int = _PRODUCT_MAX,
) -> Iterator[Shapes]:
    """The shapes of the inputs at which rows are judged on a mesh, the smallest first.

    ``kinds`` are some of PIECES. Up to ``product_max`` cut letters have all pairs of sizes; more
    have equal sizes, or one that differs.
    """
    letters = {dim: _UNCUT for each in inputs for dim in each.dims if isinstance(dim, str)}
    cut = _letters_cut(inputs, rows)
    ranks = math.prod(mesh)
    choices = _sizes_to_cut(ranks, kinds)
    if len(cut) <= product_max:
        picks: list[tuple[int, ...]] = list(itertools.product(choices, repeat=len(cut)))
    else:
        picks = [(size,) * len(cut) for size in choices]
        picks += [
            (*(ranks,) * at, size, *(ranks,) * (len(cut) - at - 1))
            for at in range(len(cut) if ranks in choices else 0)
            for size in choices
        ]
    found = {
        tuple(each.shape({**letters, **dict(zip(cut, pick))}) for each in inputs) for pick in picks
    }
    yield from sorted(found, key=lambda shapes: (sum(map(math.prod, shapes)), shapes))
