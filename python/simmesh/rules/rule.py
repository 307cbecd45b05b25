"""Sharding rules as text: placements of inputs and outputs, or an einsum-like rule of letters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PLACEMENT = re.compile(
    r"(?P<replicate>R)|S\((?P<shard>\d+)\)|_S\((?P<strided>\d+),\s*(?P<factor>\d+)\)"
    r"|P\((?P<reduction>sum|avg|min|max)\)|(?P<partial>P)"
)
_LETTERS = re.compile(r"[a-zA-Z]*")


@dataclass(frozen=True)
class RulePlacement:
    """The part of a tensor that ranks hold along a mesh dim.

    ``kind`` is "replicate", "shard", "strided_shard" or "partial". A shard has the dim that it
    cuts, a strided one also its split factor, a partial one its reduction.
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
        if self.kind == "replicate":
            return "R"
        if self.kind == "partial":
            return f"P({self.reduction})"
        if self.kind == "shard":
            return f"S({self.dim})"
        return f"_S({self.dim},{self.split_factor})"


REPLICATE = RulePlacement("replicate")
PARTIAL = RulePlacement("partial")


def shard(dim: int) -> RulePlacement:
    """The placement S(dim)."""
    return RulePlacement("shard", dim)


@dataclass(frozen=True)
class Row:
    """One row of a rule: a placement for each input and each output on one mesh dim."""

    inputs: tuple[RulePlacement, ...]
    outputs: tuple[RulePlacement, ...]

    @property
    def is_replicated(self) -> bool:
        """True if all ranks do the same."""
        return all(each == REPLICATE for each in (*self.inputs, *self.outputs))

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"


def _placement(text: str, row: str) -> RulePlacement:
    found = _PLACEMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"[rules] rule '{row.strip()}': expected R, S(d), _S(d,sf), P, P(sum), P(avg), "
            f"P(min) or P(max), got '{text.strip()}'"
        )
    if found["replicate"]:
        return REPLICATE
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


def _is_einsum(inputs: list[str], outputs: list[str]) -> bool:
    """True if a rule has letters for dims. R and P alone are placements."""
    entries = [entry.strip() for entry in (*inputs, *outputs)]
    return all(_LETTERS.fullmatch(entry) for entry in entries) and not all(
        entry in ("R", "P") for entry in entries
    )


def _einsum_rows(inputs: list[str], outputs: list[str]) -> list[Row]:
    """A row for each letter: the dims of that letter are cut. A letter that no output has is summed
    over, so outputs are partial.
    """
    ins = [entry.strip() for entry in inputs]
    outs = [entry.strip() for entry in outputs]
    for entry in (*ins, *outs):
        if len(set(entry)) != len(entry):
            raise ValueError(f"[rules] expected each letter once in an entry, got '{entry}'")
    unknown = sorted(set("".join(outs)) - set("".join(ins)))
    if unknown:
        raise ValueError(
            f"[rules] expected letters of the inputs in the outputs, got '{unknown[0]}'"
        )
    rows = [Row((REPLICATE,) * len(ins), (REPLICATE,) * len(outs))]
    for letter in dict.fromkeys("".join(ins)):
        rows.append(
            Row(
                tuple(shard(e.index(letter)) if letter in e else REPLICATE for e in ins),
                tuple(shard(e.index(letter)) if letter in e else PARTIAL for e in outs),
            )
        )
    return rows


@dataclass(frozen=True)
class Rule:
    """The rows that a rule claims, and the letters of the inputs' dims where it has some."""

    rows: tuple[Row, ...]
    letters: tuple[str, ...] | None = None


def parse_rule(rule: str | Iterable[str]) -> Rule:
    """Reads a rule: rows of placements, one a line or in a list, or one einsum-like rule.

    Raises ValueError for anything else, and for rows with different numbers of inputs or outputs.
    """
    texts = rule.splitlines() if isinstance(rule, str) else list(rule)
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ValueError("[rules] expected a rule, as in 'S(0), R -> S(0)', got none")
    sides = [_sides(text) for text in texts]
    if len(sides) == 1 and _is_einsum(*sides[0]):
        letters = tuple(entry.strip() for entry in sides[0][0])
        return Rule(tuple(_einsum_rows(*sides[0])), letters)
    rows = tuple(
        Row(
            tuple(_placement(entry, text) for entry in inputs),
            tuple(_placement(entry, text) for entry in outputs),
        )
        for text, (inputs, outputs) in zip(texts, sides)
    )
    for row in rows:
        if (len(row.inputs), len(row.outputs)) != (len(rows[0].inputs), len(rows[0].outputs)):
            raise ValueError(
                "[rules] expected rows with the same numbers of inputs and outputs, got "
                f"'{rows[0]}' and '{row}'"
            )
    return Rule(rows)
