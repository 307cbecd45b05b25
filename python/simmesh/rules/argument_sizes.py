"""Sizes among the arguments of a function, such as those of a view: each rank has others."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simmesh.rules.rule import RulePlacement
from simmesh.rules.sizes import RuleInput, Shapes, size_of_piece

_current = threading.local()


@dataclass(frozen=True)
class RuleSizes:
    """The sizes of an output, among the inputs of a function: ``RuleSizes(["a", "bc"])``.

    ``dims`` has for each dim letters of the inputs, whose sizes are multiplied, or a number.
    ``output`` is the output that has these sizes. On a rank they are those of the piece that the
    rule gives it.
    """

    dims: Sequence[str | int]
    output: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", tuple(self.dims))

    @property
    def letters(self) -> set[str]:
        """The letters whose sizes are read."""
        return {letter for dim in self.dims if isinstance(dim, str) for letter in dim}

    def whole(self, letters: Mapping[str, int]) -> list[int]:
        """The sizes of the whole output, for sizes of the letters."""
        return [
            dim if isinstance(dim, int) else math.prod(letters[letter] for letter in dim)
            for dim in self.dims
        ]


@dataclass(frozen=True)
class OutputSizes:
    """The source of outputs' sizes: those of the inputs' letters, and on ranks the placements of
    each output, one a mesh dim.
    """

    letters: Mapping[str, int]
    placements: Sequence[Sequence[RulePlacement]] = ()
    mesh: Sequence[int] = ()

    def of(self, sizes: RuleSizes, coordinate: Sequence[int] | None) -> list[int]:
        """The sizes of an output: whole, or on the rank of a coordinate."""
        found = sizes.whole(self.letters)
        if coordinate is None or sizes.output >= len(self.placements):
            return found
        for placement, count, rank in zip(self.placements[sizes.output], self.mesh, coordinate):
            if placement.is_shard and -len(found) <= placement.dim < len(found):
                found[placement.dim] = size_of_piece(found[placement.dim], placement, count, rank)
        return found


def letters_of(inputs: Sequence[RuleInput], shapes: Shapes) -> dict[str, int]:
    """The sizes of letters, for shapes of the inputs."""
    return {
        dim: size
        for given, shape in zip(inputs, shapes)
        for dim, size in zip(given.dims, shape)
        if isinstance(dim, str)
    }


class giving_sizes:
    """Gives functions the sizes of outputs, as a context of this thread: whole ones, or those on
    the rank of a coordinate. None gives nothing.
    """

    def __init__(self, sizes: OutputSizes | None, coordinate: Sequence[int] | None = None) -> None:
        self._given = None if sizes is None else (sizes, coordinate)

    def __enter__(self) -> None:
        self._before = getattr(_current, "given", None)
        _current.given = self._given

    def __exit__(self, *_: object) -> None:
        _current.given = self._before


def given_sizes(sizes: RuleSizes) -> list[int]:
    """The sizes that a call in this thread gets."""
    output_sizes, coordinate = _current.given
    found: list[int] = output_sizes.of(sizes, coordinate)
    return found
