"""The meshes on which a program is compared with one device."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any


@dataclass(frozen=True)
class Layout:
    """A mesh of ranks: the names of its dims, outermost first, and their sizes."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return math.prod(self.sizes)

    @property
    def text(self) -> str:
        """The dims with their sizes: "dp=2, tp=2"."""
        return ", ".join(f"{name}={size}" for name, size in zip(self.names, self.sizes))

    def on_one_device(self) -> Layout:
        """The mesh of one rank that has the same dims."""
        return Layout(self.names, (1,) * len(self.sizes))

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """The place of a rank in each dim."""
        places = []
        for size in reversed(self.sizes):
            rank, place = divmod(rank, size)
            places.append(place)
        return tuple(reversed(places))


def layouts_of(
    layouts: Iterable[Mapping[str, int]] | None, ranks: int | None
) -> tuple[Layout, ...]:
    """The layouts that a caller names: mappings of dims to sizes, such as {"dp": 2, "tp": 2}.

    Without layouts, ``ranks`` ranks are one dim "dp". With both, each layout has ``ranks`` ranks.
    Raises ValueError for anything else.
    """
    if layouts is None:
        if ranks is None:
            raise ValueError(
                '[one_device] expected ranks, as in ranks=4, or layouts, as in layouts=[{"dp": 2, '
                '"tp": 2}], got neither'
            )
        layouts = [{"dp": ranks}]
    if isinstance(layouts, Mapping) or not isinstance(layouts, Iterable):
        raise ValueError(
            f"[one_device] layouts: expected a list of mappings of dims to sizes, got {layouts!r}"
        )
    found = tuple(_layout(each) for each in layouts)
    if not found:
        raise ValueError("[one_device] layouts: expected at least one, got none")
    for each in found:
        if ranks is not None and each.ranks != ranks:
            raise ValueError(
                f"[one_device] layouts: expected {ranks} ranks in each, got {each.ranks} in "
                f"{each.text}"
            )
    return found


def _layout(sizes: Any) -> Layout:
    if not isinstance(sizes, Mapping) or not sizes:
        raise ValueError(
            f'[one_device] layouts: expected dims and sizes, as in {{"dp": 2}}, got {sizes!r}'
        )
    for name, size in sizes.items():
        is_whole = isinstance(size, Integral) and not isinstance(size, bool)
        if not isinstance(name, str) or not is_whole or size < 1:
            raise ValueError(
                "[one_device] layouts: expected a name and a whole number of at least 1 for each "
                f"dim, got {name!r}: {size!r}"
            )
    return Layout(tuple(sizes), tuple(int(size) for size in sizes.values()))


def rows_of(rank: int, ranks: int, count: int, sizes: Sequence[int] | None = None) -> slice:
    """The rows of ``count`` that belong to ``rank`` of ``ranks``, as a slice.

        mine = x[simmesh.rows_of(mesh["dp"].get_local_rank(), mesh["dp"].size(), len(x))]

    The first ranks have one row more where ``count`` is no multiple of ``ranks``, as in
    torch.tensor_split: 7 rows are 3, 2 and 2. ``sizes`` names other numbers of rows, one a rank,
    such as those of torch.chunk: 3, 3 and 1. Raises ValueError for a rank that isn't there, and
    for sizes that don't add up to ``count``.
    """
    if not 0 <= rank < ranks:
        raise ValueError(f"[one_device] rows_of: expected a rank of 0 to {ranks - 1}, got {rank}")
    if count < 0:
        raise ValueError(f"[one_device] rows_of: expected rows, got {count}")
    if sizes is None:
        each, left = divmod(count, ranks)
        sizes = [each + (place < left) for place in range(ranks)]
    if len(sizes) != ranks or min(sizes) < 0 or sum(sizes) != count:
        raise ValueError(
            f"[one_device] rows_of: expected {ranks} sizes that add up to {count} rows, got "
            f"{list(sizes)}"
        )
    begin = sum(sizes[:rank])
    return slice(begin, begin + sizes[rank])
