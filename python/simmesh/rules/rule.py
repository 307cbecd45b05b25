"""Sharding rules: placements of inputs and outputs along a mesh dim, and their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

REDUCTIONS = ("sum", "avg", "min", "max")

_PLACEMENT = re.compile(
    r"(?P<replicate>R|I|Replicate\(\))|(?P<varying>V)|(?P<none>None)"
    r"|S(?:hard)?\((?:dim=)?(?P<shard>-?\d+)\)"
    r"|_S(?:tridedShard)?\((?:dim=)?(?P<strided>-?\d+),\s*(?:sf=|split_factor=)?(?P<factor>\d+)\)"
    r"|P(?:artial)?\([\"']?(?P<reduction>sum|avg|min|max)[\"']?\)|(?P<partial>P|Partial\(\))"
)


@dataclass(frozen=True)
class RulePlacement:
    """The part of a tensor that ranks hold along a mesh dim.

    ``kind`` is "replicate", "shard", "strided_shard" or "partial"; "varying" for a shard whose dim
    the rule doesn't say, and "none" for a tensor of which it says nothing. A shard has the dim that
    it cuts, which counts from the end if negative, a strided one also its split factor, a partial
    one its reduction.
    """

    kind: str
    dim: int = 0
    split_factor: int = 1
    reduction: str = "sum"

    @property
    def is_shard(self) -> bool:
        """True if the ranks hold pieces."""
        return self.kind in ("shard", "strided_shard")

    def __str__(self) -> str:
        if self.kind in _NAMES:
            return _NAMES[self.kind]
        if self.kind == "partial":
            return f"P({self.reduction})"
        if self.kind == "shard":
            return f"S({self.dim})"
        return f"_S({self.dim},{self.split_factor})"


_NAMES = {"replicate": "R", "varying": "V", "none": "None"}

REPLICATE = RulePlacement("replicate")
PARTIAL = RulePlacement("partial")
VARYING = RulePlacement("varying")
NONE = RulePlacement("none")


def shard(dim: int) -> RulePlacement:
    """The placement S(dim)."""
    return RulePlacement("shard", dim)


@dataclass(frozen=True)
class Row:
    """One row of a rule: a placement for each input and each output on one mesh dim.

    ``input_gradients`` and ``output_gradients`` are placements of gradients; where a row doesn't
    say them, they follow from the placements. ``is_typed`` is True for types of spmd_types, which
    say them by R and I.
    """

    inputs: tuple[RulePlacement, ...]
    outputs: tuple[RulePlacement, ...]
    input_gradients: tuple[RulePlacement, ...] | None = None
    output_gradients: tuple[RulePlacement, ...] | None = None
    is_typed: bool = False

    @property
    def is_replicated(self) -> bool:
        """True if all ranks do the same."""
        return all(each.kind in ("replicate", "none") for each in (*self.inputs, *self.outputs))

    @property
    def has_gradients(self) -> bool:
        """True if gradients have placements: those of a mean, a minimum and a maximum have none."""
        return not any(
            each.kind == "partial" and each.reduction != "sum"
            for each in (*self.inputs, *self.outputs)
        )

    def gradient_of_input(self, at: int) -> RulePlacement:
        """The placement of an input's gradient."""
        return self._gradient(self.inputs[at], self.input_gradients, at)

    def gradient_of_output(self, at: int) -> RulePlacement:
        """The placement of an output's gradient."""
        return self._gradient(self.outputs[at], self.output_gradients, at)

    def _gradient(
        self, placement: RulePlacement, given: tuple[RulePlacement, ...] | None, at: int
    ) -> RulePlacement:
        """The terms of a sum for a tensor that all ranks hold and use on pieces of others, whole
        for the terms of a sum.
        """
        if given is not None:
            return given[at]
        if placement.is_shard:
            return placement
        return REPLICATE if placement.kind == "partial" or self.is_replicated else PARTIAL

    def __str__(self) -> str:
        if self.is_typed:
            return f"{_typed(self.inputs, self.input_gradients)} -> " + _typed(
                self.outputs, self.output_gradients
            )
        text = f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"
        if self.input_gradients is None or self.is_replicated:
            return text
        return f"{text} with gradients {', '.join(map(str, self.input_gradients))}"


def _typed(placements: Sequence[RulePlacement], gradients: Sequence[RulePlacement] | None) -> str:
    assert gradients is not None
    return ", ".join(
        "I" if placement == REPLICATE == gradient else str(placement)
        for placement, gradient in zip(placements, gradients)
    )


def dual(placement: RulePlacement, is_invariant: bool = False) -> RulePlacement:
    """The placement of the gradient of a typed tensor: P for R, R for P, the same for the rest."""
    if placement.kind == "partial":
        return REPLICATE
    return PARTIAL if placement == REPLICATE and not is_invariant else placement


def placement_of_text(text: str, row: str) -> RulePlacement:
    found = _PLACEMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"[rules] rule '{row.strip()}': expected R, S(d), _S(d,sf), P, P(sum), P(avg), "
            f"P(min), P(max), or the types I and V, got '{text.strip()}'"
        )
    if found["replicate"]:
        return REPLICATE
    if found["varying"]:
        return VARYING
    if found["none"]:
        return NONE
    if found["shard"] is not None:
        return shard(int(found["shard"]))
    if found["strided"] is not None:
        factor = int(found["factor"])
        if factor < 1:
            raise ValueError(f"[rules] expected a split factor of at least 1, got {factor}")
        return RulePlacement("strided_shard", int(found["strided"]), factor)
    return RulePlacement("partial", reduction=found["reduction"] or "sum")


def _split(text: str) -> list[str]:
    """The entries of a list, which commas within parentheses don't divide."""
    return re.split(r",(?![^(]*\))", text)


def _sides(row: str) -> tuple[list[str], list[str]]:
    sides = row.split("->")
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise ValueError(
            "[rules] expected placements on both sides of '->', as in 'S(0), R -> S(0)', got "
            f"'{row.strip()}'"
        )
    return _split(sides[0]), _split(sides[1])


def row_of(inputs: Sequence[str], outputs: Sequence[str], text: str) -> Row:
    """Reads the entries of a row. Types of spmd_types say the gradients; a row is typed if it has I
    or V.
    """
    sides = [[entry.strip() for entry in side] for side in (inputs, outputs)]
    ins, outs = (tuple(placement_of_text(entry, text) for entry in side) for side in sides)
    if not any(entry in ("I", "V") for side in sides for entry in side):
        return Row(ins, outs)
    grads = [
        tuple(dual(placement, entry == "I") for entry, placement in zip(side, placements))
        for side, placements in zip(sides, (ins, outs))
    ]
    return Row(ins, outs, grads[0], grads[1], is_typed=True)


@dataclass(frozen=True)
class Rule:
    """The rows that a rule claims.

    ``joint`` has claims on meshes of several dims: a row for each mesh dim. ``letters`` has the
    dims of the inputs, where the rule names them. ``claims(rows, mesh, shapes)`` is False where the
    rule doesn't claim rows at those sizes; None claims them at all sizes. ``left_out`` says which
    parts of a rule aren't judged, and why.
    """

    rows: tuple[Row, ...]
    letters: tuple[tuple[str | int, ...], ...] | None = None
    joint: tuple[tuple[Row, ...], ...] = ()
    claims: Callable[[Sequence[Row], Sequence[int], tuple[tuple[int, ...], ...]], bool] | None = (
        None
    )
    left_out: tuple[str, ...] = ()

    @property
    def all_rows(self) -> list[Row]:
        """The rows, those of joint claims too."""
        return [*self.rows, *(row for rows in self.joint for row in rows)]


def rule_of_rows(claims: Iterable[Sequence[Row]]) -> Rule:
    """The rule of claims, each of which has a row for each dim of its mesh.

    Raises ValueError for rows with different numbers of inputs or outputs.
    """
    found = list(claims)
    rule = Rule(
        tuple(rows[0] for rows in found if len(rows) == 1),
        joint=tuple(tuple(rows) for rows in found if len(rows) > 1),
    )
    rows = rule.all_rows
    for row in rows:
        if (len(row.inputs), len(row.outputs)) != (len(rows[0].inputs), len(rows[0].outputs)):
            raise ValueError(
                "[rules] expected rows with the same numbers of inputs and outputs, got "
                f"'{rows[0]}' and '{row}'"
            )
    return rule


def texts_of(rule: str | Iterable[str]) -> list[str]:
    """The lines of a rule that say something. Raises ValueError where none does."""
    texts = rule.splitlines() if isinstance(rule, str) else list(rule)
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ValueError("[rules] expected a rule, as in 'S(0), R -> S(0)', got none")
    return texts


def parse_placements(texts: Iterable[str]) -> Rule:
    """Reads rows of placements, each a text. The rows of several mesh dims stand between ';'.

    Raises ValueError for anything else.
    """
    return rule_of_rows([row_of(*_sides(part), part) for part in text.split(";")] for text in texts)


def resolved(row: Row, dims: Sequence[int]) -> Row:
    """A row whose inputs, with these numbers of dims, count dims from the front."""

    def front(placements: Sequence[RulePlacement]) -> tuple[RulePlacement, ...]:
        return tuple(
            replace(each, dim=each.dim + count) if each.dim < 0 else each
            for each, count in zip(placements, dims)
        )

    gradients = None if row.input_gradients is None else front(row.input_gradients)
    return replace(row, inputs=front(row.inputs), input_gradients=gradients)
