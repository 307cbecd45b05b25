"""Why a value isn't one device's, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import torch

from simmesh.one_device import notebook as notes
from simmesh.one_device.layout import Layout
from simmesh.one_device.nearest import Nearest, factors_of, nearest
from simmesh.one_device.notebook import Key, Stray
from simmesh.one_device.search import Found, scales_of
from simmesh.one_device.snapshot import Exact, Snapshot, is_power_of_two, same_bits, ulp_of

NO_LAYOUT = "no layout has one device's bits"
PENDING_STATE = (
    "a limit: its gradient is a part of a sum in the step, and so is the momentum, which lasts "
    "over steps, and which one device rounds in each; AdamW adds the gradient up first"
)
BATCH_STATISTICS = (
    "a limit: the statistics are those of each rank's own rows, and one device has those of all "
    "rows; SyncBatchNorm has those of all rows on ranks too"
)
SUBNORMAL = (
    "a limit: only numbers too small for the dtype's full precision differ, which a scale, even by "
    "a power of two, rounds"
)
RANDOM = (
    "a limit: it has random numbers, which each rank draws for its own rows from the same seed; "
    "expected, for equal bits, no dropout, or one on a DTensor"
)
PRODUCTS_OF_PARTS = (
    "a limit: the optimizer's step multiplies matrices that are cut, whose parts of sums are "
    "rounded before they are added up"
)
OTHER_CHOICES = (
    "a limit: values before it differ by rounding, which decides between rows, as in topk: ranks "
    "have other numbers of rows than one device"
)
# Scales of float16 losses are powers of two of at least this.
_LOSS_SCALE_LEAST = 64
# The largest count whose ratios tell why one number is another one.
_COUNT_MOST = 16
AFTER_CHOICES = "it follows from rows that rounding has chosen, and isn't judged"
AFTER_RANDOM = "it follows from random numbers, and isn't judged"


def random(drawn: str) -> str:
    """Says that a value has random numbers, and which operator drew them."""
    return f"{RANDOM}: {drawn}" if drawn else RANDOM


def drawn_apart(right: int, wrong: int) -> str:
    """Says that replicas drew other random numbers."""
    return (
        f"rank {right} has one device's and rank {wrong} has not: they have the same piece, and "
        "drew other random numbers for it"
    )


def stray(found: Stray) -> str:
    """Says that an optimizer holds parameters of no module."""
    return (
        f"the optimizer {found.optimizer} steps {found.count} parameters that belong to no module "
        "that was called, and none has a gradient: expected an optimizer that is made after the "
        "modules are wrapped, since wrappers replace parameters"
    )


def other_names(one: Iterable[str], ranks: Iterable[str]) -> str:
    """Says that ranks have no parameter with a name of one device."""
    here, there = sorted(ranks), sorted(one)
    return (
        f"expected parameters with one device's names, such as {_listed(there[:3])}, on the ranks, "
        f"got {_listed(here[:3]) if here else 'none'}"
    )


def other_steps(name: str, times: int, rank: int, got: Sequence[int]) -> str:
    """Says that an optimizer steps a parameter more or less often on a rank than on one device;
    ``got`` has the times of each rank.
    """
    steps = "step" if times == 1 else "steps"
    expected = f"expected {times} optimizer {steps} of {name}, as on one device"
    if len(set(got)) == 1:
        return f"{expected}, got {got[0]} on each rank"
    return (
        f"{expected}, got {got[rank]} on rank {rank}: does each rank decide by itself to skip one?"
    )


def lost(without: Sequence[int], have: Sequence[int]) -> str:
    """Says that some ranks have no gradient."""
    return f"rank {_listed(have)} has one, rank {_listed(without)} has none"


def missing_sum(found: Found, layout: Layout) -> str:
    """Says over which mesh dims a value wasn't added up or averaged."""
    sums, means = found.dims_with("P", layout), found.dims_with("M", layout)
    texts = []
    if sums:
        texts.append(f"a part of a sum: it was not added up over {_listed(sums)}")
    if means:
        texts.append(f"a part of a mean: it was not averaged over {_listed(means)}")
    return "; ".join(texts)


def broken_declaration(snapshots: Sequence[Snapshot | None]) -> str:
    """Says that ranks differ in a tensor that they declare replicated; "" if none does."""
    for rank, snapshot in enumerate(snapshots):
        if snapshot is None or snapshot.declared is None:
            continue
        declared = snapshot.declared
        coordinates = (declared.ranks == rank).nonzero()
        if len(coordinates) != 1:
            continue
        for dim, placement in enumerate(declared.placements):
            if not placement.is_replicate():
                continue
            place = coordinates[0].tolist()
            place[dim] = 0
            other = int(declared.ranks[tuple(place)])
            first = snapshots[other] if other < len(snapshots) else None
            if first is None:
                continue
            if not same_bits(first.exact.elements, snapshot.exact.elements):
                return (
                    f"it is declared as replicated, but rank {rank} has other elements "
                    f"than rank {other}"
                )
    return ""


def broken_replicas(near: Nearest, ranks: Sequence[Exact | None], layout: Layout) -> str:
    """Says that ranks which have the same piece have other elements; "" if none does."""
    first: dict[tuple[int, ...], int] = {}
    for rank, each in enumerate(ranks):
        if each is None:
            continue
        place = tuple(
            0 if piece.letter == "R" else at
            for piece, at in zip(near.pieces, layout.coordinates(rank))
        )
        other = first.setdefault(place, rank)
        exact = ranks[other]
        if exact is not None and not same_bits(exact.elements, each.elements):
            return f"rank {other} and rank {rank} have the same piece, but other elements"
    return ""


def own_factors(near: Nearest, tolerance: float) -> str:
    """Says that each rank's elements have a factor of their own; "" if they have none."""
    factors = factors_of(near, tolerance)
    if factors is None or len(set(map(ratio, factors))) < 2:
        return ""
    told = [f"rank {rank}'s are {ratio(each)}" for rank, each in enumerate(factors)]
    return (
        f"{_listed(told[:8])} times one device's: the loss is scaled by each rank's own count; "
        "expected the count of all ranks"
    )


def exchanged(near: Nearest) -> str:
    """Says that a rank has the piece of another one; "" if none has."""
    expected, got = near.expected.split(near.counts), near.got.split(near.counts)
    for rank, mine in enumerate(got):
        if not len(mine) or torch.equal(mine, expected[rank]):
            continue
        for other, piece in enumerate(expected):
            if torch.equal(mine, piece):
                return f"rank {rank} has the piece that rank {other} should have"
    return ""


def first_difference(one: Exact, ranks: Sequence[Exact | None], layout: Layout) -> str:
    """Where a value differs from its nearest layout, expected and got."""
    return details(one, nearest(one, ranks, layout), ranks, layout)


def details(one: Exact, near: Nearest | None, ranks: Sequence[Exact | None], layout: Layout) -> str:
    """Where a value differs, expected and got."""
    if near is None:
        shapes = {tuple(each.elements.shape) for each in ranks if each is not None}
        dtypes = {str(each.elements.dtype) for each in ranks if each is not None}
        return (
            f"expected pieces of {one.elements.dtype} of shape {list(one.elements.shape)}, got "
            f"{', '.join(sorted(dtypes))} of shape "
            f"{', '.join(str(list(each)) for each in sorted(shapes))}"
        )
    whole = near.expected.numel()
    where = f" at {list(near.index)} of {list(one.elements.shape)}" if near.index else ""
    return (
        f"nearest layout {near.text} over ({layout.text}): {near.differing} of the ranks' {whole} "
        f"elements differ, first on rank {near.rank}{where}: expected {near.expected_first:.9g}, "
        f"got {near.got_first:.9g}"
    )


def difference(
    key: Key, factor: float | None, is_steady: bool, one: Exact, ranks: Sequence[Exact | None],
    rows: Sequence[int] | None, layout: Layout,
) -> str:  # fmt: skip
    """Says how a value differs that no limit explains. A steady factor holds for each element."""
    # One number is always some number times another.
    is_told = one.elements.numel() > 1 or key.kind in notes.OF_GRADIENTS or _is_simple(factor)
    if factor is not None and factor != 1 and is_told and (is_steady or abs(factor - 1) > 1e-4):
        return f"all elements are {ratio(factor)} times one device's{cause(key, factor, layout)}"
    if one.elements.numel() == 1 and rows is not None and _is_weighted_mean(one, ranks, rows):
        return (
            f"each rank has a mean of its own {_listed(rows)} rows, and these count differently: "
            "expected the sum over all ranks divided by the number of all rows"
        )
    return NO_LAYOUT


def step(times: float, setting: str) -> str:
    """Says that an optimizer's step was too long or too short, and names the option that differs if
    there is one.
    """
    why = setting or "expected the same learning rate and state"
    return f"the step that changed it is {ratio(times)} times one device's: {why}"


def ratio(factor: float) -> str:
    """A factor as a fraction where it is one: "3/4"."""
    fraction = Fraction(factor).limit_denominator(64)
    if fraction == 1 and factor != 1:
        return f"{factor:.9g}"
    return str(fraction) if math.isclose(fraction, factor, rel_tol=1e-4) else f"{factor:.6g}"


def _is_simple(factor: float | None) -> bool:
    if factor is None or factor <= 0:
        return False
    fraction = Fraction(factor).limit_denominator(_COUNT_MOST)
    is_small = fraction.numerator <= _COUNT_MOST
    return is_small and math.isclose(fraction, factor, rel_tol=1e-6)


def cause(key: Key, factor: float, layout: Layout) -> str:
    """The usual cause of a factor of gradients."""
    if key.kind not in notes.OF_GRADIENTS:
        return ""
    for scale in scales_of(layout):
        dims = _dims_of(scale, layout)
        if math.isclose(factor, scale, rel_tol=1e-4):
            return f": it was added up over {dims} where a mean was due, or twice"
        if math.isclose(factor, 1 / scale, rel_tol=1e-4):
            return f": it was divided by the size of {dims} once too often, or not added up"
    if is_power_of_two(factor) and not 1 / _LOSS_SCALE_LEAST < factor < _LOSS_SCALE_LEAST:
        return ": a loss scale was not divided out, or the loss is scaled by other counts"
    return ": the loss is scaled by other counts, such as each rank's own"


def _dims_of(scale: int, layout: Layout) -> str:
    """Names dims whose sizes have the product ``scale``: "dp or cp", "dp and tp"."""
    alone = [name for name, size in zip(layout.names, layout.sizes) if size == scale]
    if alone:
        return " or ".join(alone)
    found, left = [], scale
    for name, size in zip(layout.names, layout.sizes):
        if size > 1 and left % size == 0:
            found.append(name)
            left //= size
    return " and ".join(found)


def rounding(close: Found, layout: Layout, scales: set[float], follows: bool) -> str:
    """Says why a value differs by rounding only."""
    odd = {scale for scale in scales | {close.scale} if not is_power_of_two(scale)}
    if odd:
        return (
            f"a limit: gradients are {max(odd):g} times one device's until they are averaged, and "
            f"{max(odd):g} is no power of two, so they are rounded differently; expected, for "
            "equal bits, a loss that is divided by the number of all rows"
        )
    if follows:
        return "it follows from the values before it, which differ by rounding"
    return (
        "a limit: it differs by rounding only, as it does where ranks compute it by another "
        "formula than one device, or in other steps"
    )


def only_subnormal(near: Nearest, dtype: torch.dtype) -> bool:
    """True if all elements that differ are smaller than the dtype's normal numbers."""
    differs = near.expected != near.got
    tiny = torch.finfo(dtype).tiny
    small = (near.expected.abs() < tiny) & (near.got.abs() < tiny)
    return bool(differs.any()) and bool(small[differs].all())


def number_fits(one: Exact, ranks: Sequence[Exact | None]) -> bool:
    """True if numbers of Python are parts of a sum or mean, each rounded to float32 at least."""
    if not one.elements.is_floating_point():
        return False
    parts = [float(each.elements) for each in ranks if each is not None and not each.elements.dim()]
    if len(parts) != len(ranks) or one.elements.dim():
        return False
    expected = float(one.elements)
    # Each part and the whole was rounded once, by at most half a unit in the last place.
    roundings = sum(map(abs, parts)) * ulp_of(torch.float32) / 2
    total = math.fsum(parts)
    return (
        abs(total - expected) <= roundings + abs(expected) * ulp_of(torch.float32) / 2
        or abs(total / len(parts) - expected)
        <= roundings / len(parts) + abs(expected) * ulp_of(torch.float32) / 2
    )


def _is_weighted_mean(one: Exact, ranks: Sequence[Exact | None], rows: Sequence[int]) -> bool:
    if len(set(rows)) < 2 or any(each is None or each.elements.numel() != 1 for each in ranks):
        return False
    weighted = math.fsum(
        count * float(each.elements) for count, each in zip(rows, ranks) if each is not None
    )
    return math.isclose(weighted / sum(rows), float(one.elements), rel_tol=1e-5)


def _listed(items: Sequence[object]) -> str:
    words = [str(each) for each in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
