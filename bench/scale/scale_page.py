"""How do the time and the memory of a world grow with its ranks?

    scale_page.py [--program FILE] [--ranks N] [--memory GIB] [--page-only]

Runs worlds of 1 to N ranks (1,000,000 by default), each in a process of its own, with data, with
shapes only, and with shapes only and folded. Then docs/scale.md is written, with a plot beside it
and the growth exponents; what was measured is kept in bench/scale.json. A world that would need
more than the given memory is left out, and the page says so. --page-only measures nothing, and
writes page and plot of what is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "bench" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"
PICTURE = ROOT / "docs" / "pictures" / "scale.svg"

KINDS = {"data": "with data", "shapes": "shapes only", "folded": "shapes only, folded"}
RANKS = (1, 10, 100, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
#: Worlds of fewer ranks have guarded stacks, and cost what a process costs. They say nothing of
#: growth.
GROWS_FROM = 10_000


@dataclass(frozen=True)
class Point:
    """The cost of a world: processor seconds, and bytes by which the process grew."""

    kind: str
    ranks: int
    seconds: float
    bytes: int


def available_gib() -> float:
    """The memory that the machine has left."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) / (1 << 20)
    return math.inf


def measure(program: Path, kind: str, ranks: int) -> Point:
    """The least cost of several runs, of one if it takes long."""
    least: Point | None = None
    for _ in range(5):
        done = subprocess.run(
            [program, kind, str(ranks)], check=False, capture_output=True, text=True
        )
        if done.returncode:
            print(f"scale: {kind}, {ranks} ranks: {done.stderr.strip()}", file=sys.stderr)
            sys.exit(2)
        point = Point(**json.loads(done.stdout))
        if least is None or point.seconds < least.seconds:
            least = point
        if point.seconds > 2:
            break
    assert least is not None
    return least


def measure_all(program: Path, most: int, gib: float) -> tuple[list[Point], list[tuple[str, int]]]:
    """The points, and the worlds that were left out for lack of memory."""
    points: list[Point] = []
    left: list[tuple[str, int]] = []
    for kind in KINDS:
        last: Point | None = None
        for ranks in (each for each in RANKS if each <= most):
            need = last.bytes * ranks / last.ranks if last and last.ranks >= GROWS_FROM else 0
            if need > gib * (1 << 30):
                left.append((kind, ranks))
                continue
            last = measure(program, kind, ranks)
            points.append(last)
            print(
                f"{KINDS[kind]}: {ranks:,} ranks, {last.seconds:.4f} s, {last.bytes:,} bytes",
                file=sys.stderr, flush=True,
            )  # fmt: skip
    return points, left


def exponent(pairs: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through the logarithms of (ranks, cost) that fits best."""
    logs = [(math.log(x), math.log(y)) for x, y in pairs if x > 0 and y > 0]
    if len(logs) < 2:
        return math.nan
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs))
    above = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return above / sum((x - mean_x) ** 2 for x, _ in logs)


def exponents(points: Sequence[Point], kind: str) -> tuple[float, float]:
    """The exponents of time and bytes of large worlds."""
    large = [each for each in points if each.kind == kind and each.ranks >= GROWS_FROM]
    return (
        exponent([(each.ranks, each.seconds) for each in large]),
        exponent([(each.ranks, each.bytes) for each in large]),
    )


def time_text(seconds: float) -> str:
    """A time in the unit that suits it."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def bytes_text(count: float) -> str:
    """A number of bytes in the unit that suits it."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.3g} {unit}"
    return f"{count:.0f}"


_HEAD = """
What do time and memory of a world cost against the number of its ranks? Every rank that runs
reduces 256 floats over all ranks and meets a barrier. The time is the processor's, on one core,
from the making of the world to its end. The bytes are those by which the process grows at most.
`./dev bench --scale` measures this page and draws its picture.
"""
_PICTURE = "![Time and memory against the number of ranks](pictures/scale.svg)"
_EXPONENTS = """
The exponent is the slope of the line that fits best from 10,000 ranks on: with an exponent of 1
twice as many ranks cost twice as much. Worlds of up to 4,096 ranks have guarded stacks, which take
longer to make.
"""
_TAIL = """
A world [with data](scheduler.md#stacks) holds a stack and the tensors of each rank. One of [shapes
only](shapes_only.md) runs all ranks without elements. If it is [folded](shapes_only.md#folding),
two ranks run and stand for all. `bench/scale/one_world.cpp` is the program.
"""


def paragraph(text: str) -> str:
    """A paragraph in the lines of a page."""
    return textwrap.fill(
        " ".join(text.split()), 130, break_long_words=False, break_on_hyphens=False
    )


def page(points: Sequence[Point], left: Sequence[tuple[str, int]]) -> str:
    """The page as Markdown."""
    lines = ["# Scale", paragraph(_HEAD), "", _PICTURE, "", paragraph(_EXPONENTS), ""]
    lines += ["| world | exponent of time | exponent of bytes |", "| --- | --- | --- |"]
    for kind, title in KINDS.items():
        time, size = exponents(points, kind)
        lines.append(f"| {title} | {time:.2f} | {size:.2f} |")
    columns = [f"{title}: {what}" for title in KINDS.values() for what in ("time", "bytes")]
    lines += ["", f"| ranks | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    by_place = {(each.kind, each.ranks): each for each in points}
    for ranks in sorted({each.ranks for each in points}):
        cells = []
        for kind in KINDS:
            point = by_place.get((kind, ranks))
            cells += ["", ""] if point is None else [
                time_text(point.seconds), bytes_text(point.bytes)]  # fmt: skip
        lines.append(f"| {ranks:,} | {' | '.join(cells)} |")
    if left:
        worlds = ", ".join(f"{ranks:,} ranks {KINDS[kind]}" for kind, ranks in left)
        lines += ["", f"Left out, because the machine had too little memory: {worlds}."]
    return "\n".join([*lines, "", paragraph(_TAIL)]) + "\n"


def draw(points: Sequence[Point], path: Path) -> None:
    """Draws time and bytes against ranks, both logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "simmesh", "font.size": 9, "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, key, label in zip(axes, ("seconds", "bytes"), ("processor seconds", "bytes")):
        for kind, marker in zip(KINDS, "os^"):
            of_kind = [each for each in points if each.kind == kind]
            slope = exponents(points, kind)[key == "bytes"]
            axis.plot(
                [each.ranks for each in of_kind],
                [max(asdict(each)[key], 1e-9) for each in of_kind],
                marker=marker, markersize=4, label=f"{KINDS[kind]}, exponent {slope:.2f}",
            )  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="ranks", ylabel=label)
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def main() -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/one_world")
    parser.add_argument("--ranks", type=int, default=RANKS[-1], help="of the largest world")
    parser.add_argument("--memory", type=float, help="GiB that a world may need")
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.page_only:
        kept: dict[str, Any] = json.loads(KEPT.read_text())
        points = [Point(**each) for each in kept["points"]]
        left = [(str(kind), int(ranks)) for kind, ranks in kept["left"]]
    else:
        gib = options.memory or 0.8 * available_gib()
        points, left = measure_all(options.program, options.ranks, gib)
        keeping = {"points": [asdict(each) for each in points], "left": left}
        KEPT.write_text(json.dumps(keeping, indent=1) + "\n", encoding="utf-8")
    draw(points, PICTURE)
    PAGE.write_text(page(points, left), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
