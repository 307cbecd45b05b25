"""Rules of factors: einsum letters, einops names and Shardy's text.

    "mk, kn -> mn"
    "b (h d) -> b h d"
    "([i, k], [k, j]) -> ([i, j]) {i=4, k=2, j=4} reduction={k}"

Each dim of a tensor is made of factors. Cutting a factor cuts the dims that have it: as a shard
where it is the outermost one of its dim, as a strided shard where others are outside of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simmesh.rules.rule import PARTIAL, REPLICATE, Row, Rule, RulePlacement, shard

Dims = tuple[tuple[str, ...], ...]
Shapes = tuple[tuple[int, ...], ...]

_PLACEMENT = re.compile(
    r"R|I|V|P|None|_?S(hard)?\(.*\)|_StridedShard\(.*\)|P(artial)?\(.*\)|Replicate\(\)"
)
_ENTRY = re.compile(r"\s*(\([^()]*\)|[A-Za-z]\w*|1|\.\.\.)")
_FACTORS = re.compile(r"([A-Za-z](?:_\d+)?)")
_SHARDY = re.compile(
    r"(?:#?sdy\.op_sharding_rule\s*)?<?\s*(?P<inputs>\(.*?\))\s*->\s*(?P<outputs>\(.*?\))\s*"
    r"(?P<rest>[^()]*?)>?\s*"
)
_GROUP = re.compile(r"(?:(?P<name>\w+)\s*=\s*)?\{(?P<body>[^{}]*)\}")
_KINDS = ("reduction", "need_replication", "permutation", "blocked_propagation")


@dataclass(frozen=True)
class FactorRule:
    """The factors of each dim of the inputs and outputs, sizes where the rule says them, and the
    factors of each of Shardy's kinds.

    ``is_closed`` is True for Shardy's rules, which name their reductions; in other rules a letter
    that the outputs lack is one.
    """

    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_closed: bool = False

    @property
    def factors(self) -> list[str]:
        """All factors, in the order of the inputs."""
        return list(dict.fromkeys(f for dims in self.inputs for dim in dims for f in dim))

    @property
    def compound(self) -> set[str]:
        """The factors that share a dim with others."""
        tensors = (*self.inputs, *self.outputs)
        return {f for dims in tensors for dim in dims if len(dim) > 1 for f in dim}

    def shares_dim(self, one: str, other: str) -> bool:
        """True if two different factors are in one dim of some tensor."""
        tensors = (*self.inputs, *self.outputs)
        return one != other and any(one in dim and other in dim for dims in tensors for dim in dims)


def is_factor_rule(text: str) -> bool:
    """True if a rule has factors for dims. R, P, I and V alone are placements."""
    if "->" not in text:
        return False
    if "[" in text:
        return True
    sides = [side for part in text.split("->") for side in re.split(r",(?![^(]*\))", part)]
    return not any(_PLACEMENT.fullmatch(entry.strip()) for entry in sides if entry.strip()) or (
        not all(_PLACEMENT.fullmatch(entry.strip()) for entry in sides)
        and all(re.fullmatch(r"[A-Za-z]*", entry.strip()) for entry in sides)
    )


def parse_factor_rule(text: str) -> Rule:
    """Reads a rule of factors as rows: one with no cut, and one for each factor.

    Raises ValueError for what isn't one.
    """
    read = _shardy(text) if "[" in text else _einsum(text)
    _check(read)
    cut = [factor for factor in read.factors if not _needs_movement(read, factor)]
    rows = {factor: _row(read, factor) for factor in cut}
    whole = Row((REPLICATE,) * len(read.inputs), (REPLICATE,) * len(read.outputs))
    factor_of = {row: factor for factor, row in rows.items()}
    compound = read.compound

    def claims(rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes) -> bool:
        # A factor within a dim of several is cut evenly, as Shardy does, and no other one of the
        # dim beside it: the split factors of both would depend on each other.
        cuts: dict[str, int] = {}
        for row, size in zip(rows, mesh):
            factor = factor_of.get(row)
            if factor in compound:
                cuts[factor] = cuts.get(factor, 1) * size
        if any(read.shares_dim(one, other) for one in cuts for other in cuts):
            return False
        return all(read.sizes[factor] % size == 0 for factor, size in cuts.items())

    moved = [factor for factor in read.factors if factor not in cut]
    return Rule(
        tuple(dict.fromkeys((whole, *rows.values()))),
        letters=tuple(_letters(read, dims) for dims in read.inputs),
        claims=claims if compound else None,
        left_out=tuple(f"factor {f}, whose cut needs communication" for f in moved),
    )


def _letters(read: FactorRule, dims: Dims) -> tuple[str | int, ...]:
    """The dims of an input: letters whose sizes vary, and the sizes of dims of several factors."""
    compound = read.compound
    return tuple(
        1
        if not dim
        else dim[0]
        if len(dim) == 1 and dim[0] not in compound
        else math.prod(read.sizes[factor] for factor in dim)
        for dim in dims
    )


def _needs_movement(read: FactorRule, factor: str) -> bool:
    return any(factor in read.kinds.get(kind, ()) for kind in ("need_replication", "permutation"))


def _placement(read: FactorRule, dims: Dims, factor: str) -> RulePlacement | None:
    for at, dim in enumerate(dims):
        if factor not in dim:
            continue
        outside = math.prod(read.sizes[each] for each in dim[: dim.index(factor)])
        if outside == 1:
            return shard(at)
        return RulePlacement("strided_shard", at, outside)
    return None


def _row(read: FactorRule, factor: str) -> Row:
    reduced = not read.is_closed or factor in read.kinds.get("reduction", ())
    absent = PARTIAL if reduced else REPLICATE
    return Row(
        tuple(_placement(read, dims, factor) or REPLICATE for dims in read.inputs),
        tuple(_placement(read, dims, factor) or absent for dims in read.outputs),
    )


def _check(read: FactorRule) -> None:
    for dims in (*read.inputs, *read.outputs):
        names = [factor for dim in dims for factor in dim]
        if len(set(names)) != len(names):
            raise ValueError(
                f"[rules] expected each letter once in an entry, got '{''.join(names)}'"
            )
    known = read.factors
    for factor in (f for dims in read.outputs for dim in dims for f in dim):
        if factor not in known:
            raise ValueError(
                f"[rules] expected letters of the inputs in the outputs, got '{factor}'"
            )
    for factor in read.compound - set(read.sizes):
        raise ValueError(
            f"[rules] expected the size of factor {factor}, which shares a dim with others, as in "
            f"'{{{factor}=4}}', got none"
        )
    for kind, factors in read.kinds.items():
        for factor in factors:
            if factor not in known:
                raise ValueError(f"[rules] {kind}: expected a factor of the inputs, got '{factor}'")


def _einsum(text: str) -> FactorRule:
    """Reads letters, one a dim; or, between spaces, names, with parentheses around those of one
    dim. Sizes may follow in braces.
    """
    body, brace, rest = text.partition("{")
    sides = body.split("->")
    if len(sides) != 2:
        raise ValueError(f"[rules] expected one '->' in a rule of letters, got '{text.strip()}'")
    inputs, outputs = (
        tuple(_entry(entry.strip(), text) for entry in re.split(r",(?![^(]*\))", side))
        for side in sides
    )
    sizes, _ = _groups(brace + rest, text)
    return FactorRule(inputs, outputs, sizes)


def _entry(entry: str, text: str) -> Dims:
    if re.fullmatch(r"[A-Za-z1]*", entry):
        return tuple(() if letter == "1" else (letter,) for letter in entry)
    dims: list[tuple[str, ...]] = []
    at = 0
    while at < len(entry.rstrip()):
        found = _ENTRY.match(entry, at)
        if found is None or found[1] == "...":
            raise ValueError(
                f"[rules] rule '{text.strip()}': expected letters or names of dims, got "
                f"'{entry[at:].strip()}'"
            )
        at = found.end()
        names = tuple(found[1].strip("()").split())
        dims.append(() if found[1] == "1" else names)
    return tuple(dims)


def _groups(text: str, rule: str) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    sizes: dict[str, int] = {}
    kinds: dict[str, tuple[str, ...]] = {}
    for found in _GROUP.finditer(text):
        entries = [entry.strip() for entry in found["body"].split(",") if entry.strip()]
        if found["name"] is not None:
            if found["name"] not in _KINDS:
                raise ValueError(
                    f"[rules] rule '{rule.strip()}': expected {', '.join(_KINDS)}, got "
                    f"'{found['name']}'"
                )
            kinds[found["name"]] = tuple(entries)
            continue
        for entry in entries:
            name, _, size = entry.partition("=")
            if not size.strip().isdigit() or int(size) < 1:
                raise ValueError(
                    f"[rules] rule '{rule.strip()}': expected sizes such as i=4, got '{entry}'"
                )
            sizes[name.strip()] = int(size)
    return sizes, kinds


def _shardy(text: str) -> FactorRule:
    found = _SHARDY.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError(
            "[rules] expected a rule of factors, as in '([i, k], [k, j]) -> ([i, j]) {i=4, k=2, "
            f"j=4}} reduction={{k}}', got '{text.strip()}'"
        )
    inputs, outputs = (
        tuple(
            tuple(tuple(_FACTORS.findall(dim)) for dim in tensor.split(",") if dim.strip())
            for tensor in re.findall(r"\[([^\]]*)\]", found[side])
        )
        for side in ("inputs", "outputs")
    )
    sizes, kinds = _groups(found["rest"], text)
    return FactorRule(inputs, outputs, sizes, kinds, is_closed=True)
