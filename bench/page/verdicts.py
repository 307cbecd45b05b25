"""Judges figures: forms their ratios, and compares these with their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from figures import Figure
from measuring import Measured

#: A ratio that is worse than on the last page by this factor is a regression.
WORSE = 1.25


@dataclass(frozen=True)
class Result:
    """A measured figure. ``state`` is holds, missed, known, bounded or missing; '' has no limit."""

    figure: Figure
    ours: float | None
    peer: float | None
    ratio: float | None
    state: str
    said: str


def ratio_of(figure: Figure, ours: float, peer: float) -> float:
    """Divides so that the ratio says how many times as fast, as long or as much ours is."""
    above, below = (peer, ours) if figure.ratio == "faster" else (ours, peer)
    return above / below if below else float("inf")


def judge(figure: Figure, measured: Measured) -> Result:
    """The result of a figure."""
    ours = measured.value(figure.ours)
    peer = measured.value(figure.peer) if figure.peer else None
    for name, value in ((figure.ours, ours), (figure.peer, peer)):
        if name and value is None:
            reason = measured.reason(name)
            return Result(figure, ours, peer, None, "missing", reason)
    assert ours is not None
    ratio = None if peer is None else ratio_of(figure, ours, peer)
    bounds = [
        (figure.value_least, ours, True), (figure.value_most, ours, False),
        (figure.least, ratio, True), (figure.most, ratio, False),
    ]  # fmt: skip
    asked = [
        (value >= bound if is_least else value <= bound)
        for bound, value, is_least in bounds
        if bound is not None and value is not None
    ]
    if not asked:
        return Result(figure, ours, peer, ratio, "", "")
    if all(asked):
        return Result(figure, ours, peer, ratio, "holds", "holds")
    plain = measured.value(figure.possible) if figure.possible else None
    if plain and peer is not None and figure.least is not None and peer / plain < figure.least:
        said = f"at most {number(peer / plain)} times possible"
        return Result(figure, ours, peer, ratio, "bounded", said)
    return Result(figure, ours, peer, ratio, *(("known", "missed: see below") if figure.why else
                                               ("missed", "MISSED")))  # fmt: skip


def limit_of(figure: Figure) -> str:
    """The limits in words."""
    parts = []
    for word, ratio, value in (
        ("at least", figure.least, figure.value_least), ("at most", figure.most, figure.value_most),
    ):  # fmt: skip
        if value is not None:
            parts.append(f"{word} {with_unit(value, figure.unit)}")
        if ratio is not None:
            parts.append(f"{word} {number(ratio)} times")
    return ", ".join(parts)


def number(value: float) -> str:
    """A number with three digits, or all digits before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) < 1 else 1 if abs(value) < 10 else 0
    text = f"{value:.{digits + (abs(value) < 10)}f}" if abs(value) >= 0.01 else f"{value:.2g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def with_unit(value: float | None, unit: str) -> str:
    """A value with its unit, times in the unit that suits them."""
    if value is None:
        return ""
    if unit == "us":
        for scale, name in ((1e6, "s"), (1e3, "ms"), (1.0, "us")):
            if value >= scale:
                return f"{number(value / scale)} {name}"
        return f"{number(value * 1e3)} ns"
    if unit == "bytes":
        for scale, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= scale:
                return f"{number(value / scale)} {name}"
    return f"{number(value)} {unit}".strip()


def quotable(
    results: Sequence[Result], measured: Mapping[str, float]
) -> dict[str, float | None]:  # fmt: skip
    """Values by the names that quotes have: those of measurements, and ``ratio of NAME``."""
    ratios = {f"ratio of {each.figure.ours}": each.ratio for each in results}
    return {**measured, **ratios}


def is_more_better(figure: Figure) -> bool:
    """True if a larger value, or a larger ratio where there is a peer, is a better one."""
    if figure.peer:
        return figure.ratio != "longer"
    return figure.value_least is not None or figure.unit.endswith("/s")


def changes(
    figures: Sequence[Figure], before: Measured, now: Measured
) -> list[tuple[str, float, float, bool]]:
    """Figures whose ratio, or value without one, changed by more than the factor: title, before,
    now, and whether that is worse. The worst come first.
    """
    found = []
    for figure in figures:
        old, new = judge(figure, before), judge(figure, now)
        first, second = (old.ratio, new.ratio) if figure.peer else (old.ours, new.ours)
        if not first or not second:
            continue
        worse = first / second if is_more_better(figure) else second / first
        if worse > WORSE or worse < 1 / WORSE:
            found.append((worse, figure.title, first, second))
    return [
        (title, first, second, worse > 1) for worse, title, first, second in sorted(found)[::-1]
    ]


def counts(results: list[Result]) -> dict[str, int]:
    """Counts the results of each state."""
    states = [each.state for each in results]
    return {state: states.count(state) for state in dict.fromkeys(states)}
