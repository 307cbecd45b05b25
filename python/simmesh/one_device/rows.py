"""Says that ranks have one device's rows in another order, some of them twice, or not all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from simmesh.one_device.snapshot import Exact, is_power_of_two, same_bits

#: The end of a reason that names repeated rows and no missing one.
REPEATED = "of one device more than once"

_Row = tuple[float, ...]

# The most elements of one device's tensor whose rows are looked for.
_ELEMENTS_MAX = 1 << 16


def rows_reason(one: Exact, ranks: Sequence[Exact | None]) -> str:
    """Says which of one device's rows the ranks have otherwise; "" if they have other rows too, or
    if two rows of one device are the same.

    Ranks that have the same rows are taken for replicas, and count once. Rows that are all a
    power of two times one device's are named with the factor.
    """
    found = _reason(one, ranks)
    factor = None if found else _factor(one, ranks)
    if factor is None:
        return found
    scaled = [None if each is None else Exact(each.elements / factor) for each in ranks]
    found = _reason(one, scaled)
    return f"{found}, and all elements are {Fraction(factor)} times one device's" if found else ""


def _factor(one: Exact, ranks: Sequence[Exact | None]) -> float | None:
    """The quotient of the largest elements, if scaling by it rounds nothing, and it isn't 1."""
    present = [each for each in (one, *ranks) if each is not None and each.elements.numel()]
    if not all(each.elements.is_floating_point() for each in present):
        return None
    sizes = [float(each.elements.abs().max()) for each in present]
    if (
        one.elements.numel() == 0
        or len(sizes) < 2
        or not math.isfinite(sum(sizes))
        or 0.0 in (sizes[0], max(sizes[1:]))
    ):
        return None
    factor = max(sizes[1:]) / sizes[0]
    return factor if factor != 1 and is_power_of_two(factor) else None


def _reason(one: Exact, ranks: Sequence[Exact | None]) -> str:
    expected = _rows_of(one)
    pieces = _distinct(ranks)
    if expected is None or len(set(expected)) < len(expected) or not pieces:
        return ""
    got: list[_Row] = []
    for each in pieces:
        rows = _rows_of(each)
        if rows is None:
            return ""
        got += rows
    counts, place = Counter(got), {row: at for at, row in enumerate(expected)}
    if not counts.keys() <= place.keys() or got == expected:
        return ""
    return _told(expected, counts, place)


def _told(expected: list[_Row], counts: Counter[_Row], place: dict[_Row, int]) -> str:
    twice = sorted(place[row] for row, count in counts.items() if count > 1)
    missing = [at for at, row in enumerate(expected) if row not in counts]
    if not twice and not missing:
        return "the ranks have one device's rows in another order"
    texts = []
    if twice:
        texts.append(f"row {_listed(twice)} {REPEATED}")
    if missing:
        texts.append(f"{'and ' if twice else ''}no row {_listed(missing)} of one device")
    told, got = ", ".join(texts), sum(counts.values())
    if got == len(expected):
        return f"the ranks have {told}"
    return f"the ranks have {got} rows where one device has {len(expected)}: {told}"


def _distinct(ranks: Sequence[Exact | None]) -> list[Exact]:
    found: list[Exact] = []
    for each in ranks:
        if each is None or any(same_bits(each.elements, other.elements) for other in found):
            continue
        found.append(each)
    return found


def _rows_of(exact: Exact) -> list[_Row] | None:
    """The rows of a tensor along its first dim; None for one without rows."""
    elements = exact.elements
    if elements.dim() == 0 or elements.is_complex() or elements.numel() > _ELEMENTS_MAX:
        return None
    return (
        [tuple(row) for row in elements.flatten(1).tolist()]
        if elements.dim() > 1
        else [(each,) for each in elements.tolist()]
    )


def _listed(places: list[int]) -> str:
    shown = ", ".join(map(str, places[:4]))
    return f"{shown} and {len(places) - 4} more" if len(places) > 4 else shown
