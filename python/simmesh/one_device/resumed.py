"""``same_when_resumed``: a training that stops and continues, beside one that never stops."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simmesh.one_device.comparison import Comparison, DiffersFromOneDevice, observe
from simmesh.one_device.layout import Layout, layouts_of

if TYPE_CHECKING:
    from simmesh.one_device.notebook import Entry, Notebook
    from simmesh.one_device.verdict import Finding, Verdict

Training = Callable[[Any, Path, int], Any]


def same_when_resumed(
    program: Training,
    *,
    layouts: Iterable[Mapping[str, int]],
    steps: Sequence[int] = (1, 2),
    **options: Any,
) -> Comparison:
    """Runs ``program(mesh, folder, steps)`` in parts, and compares the last part bit for bit with
    one device that never stops.

        def train(mesh, folder, steps):
            model, optimizer = build(mesh)
            first = load(model, optimizer, folder)     # 0 where the folder is empty
            for step in range(first, steps):
                ...
            save(model, optimizer, folder)

        simmesh.same_when_resumed(train, layouts=[{"dp": 2}, {"dp": 4}], steps=[2, 4])

    There is a part for each layout: it begins with the folder that the part before has left, and
    ends after so many steps in all. One device runs all steps at once, in an empty folder. Compared
    are the values of ``same_as_one_device``: parameters as they are loaded, outputs, gradients,
    states, the gradient norm, and what the program notes and returns. A value of the last part is
    compared with the one that is as many calls from the end of one device's run. Where all parts
    have one layout, its ranks must also have the bits of their own run without a stop: no limit of
    exact arithmetic explains a difference there.

    The other options are those of ``spmd_run``. Raises DiffersFromOneDevice with a report, and
    what a rank raises.
    """
    __tracebackhide__ = True
    from simmesh.one_device.judge import judge

    chosen = layouts_of(layouts, None)
    if len(chosen) != len(steps) or len(steps) < 2 or list(steps) != sorted(set(steps)):
        raise ValueError(
            "[resumed] expected a layout for each number of steps, at least two, and growing "
            f"numbers, got {len(chosen)} layouts and steps {list(steps)}"
        )
    with tempfile.TemporaryDirectory() as place:
        run = _Runs(program, Path(place), options)
        alone = chosen[0].on_one_device()
        one = run.unbroken(alone, steps[-1])[0]
        for layout, until in zip(chosen, steps):
            ranks = run.part(layout, until)
        stopped = run.unbroken(alone, steps[-2])[0] if _steps_by_hand(one) else None
        comparison = Comparison([judge(*_aligned(one, ranks, stopped), chosen[-1])])
        (verdict,) = comparison.verdicts
        if _differs_by_rounding(verdict) and len(set(chosen)) == 1:
            # Exact values behind elements end with a run, so both runs are plain.
            plain = _Runs(program, Path(place) / "plain", {**options, "local": "plain"})
            for layout, until in zip(chosen, steps):
                ranks = plain.part(layout, until)
            verdict.findings[:0] = _unlike(plain.unbroken(chosen[0], steps[-1]), ranks)
    if comparison.has_faults:
        raise DiffersFromOneDevice(comparison)
    return comparison


class _Runs:
    """Runs of a training: parts that go on in one folder, and unbroken ones in folders of their
    own.
    """

    def __init__(self, program: Training, place: Path, options: Mapping[str, Any]) -> None:
        self.program = program
        self.place = place
        self.options = dict(options)
        self.count = 0

    def part(self, layout: Layout, until: int) -> list[Notebook]:
        """Goes on where the part before has ended."""
        return self._run(layout, until, "parts")

    def unbroken(self, layout: Layout, until: int) -> list[Notebook]:
        """Begins anew."""
        self.count += 1
        return self._run(layout, until, f"unbroken_{self.count}")

    def _run(self, layout: Layout, until: int, name: str) -> list[Notebook]:
        folder = self.place / name
        folder.mkdir(parents=True, exist_ok=True)
        return observe(lambda mesh: self.program(mesh, folder, until), layout, self.options)


def _differs_by_rounding(verdict: Verdict) -> bool:
    """True if there are limits and no faults, and random numbers have no part in it."""
    from simmesh.one_device.reasons import RANDOM

    is_random = any(each.text.startswith(RANDOM) for each in verdict.limits)
    return bool(verdict.limits) and not verdict.faults and not is_random


def _steps_by_hand(one: Notebook) -> bool:
    """True if a parameter changes, and no optimizer steps it."""
    from simmesh.one_device import notebook as notes
    from simmesh.one_device.snapshot import same_bits

    for key, entry in one.entries.items():
        if key.kind == notes.INITIAL and not one.times_stepped.get(key.name):
            last = one.entries.get(notes.Key(notes.PARAMETER, key.name, 0))
            begin, end = entry.snapshot, None if last is None else last.snapshot
            if begin is None or end is None:
                continue
            if not same_bits(begin.exact.elements, end.exact.elements):
                return True
    return False


def _unlike(unbroken: Sequence[Notebook], ranks: Sequence[Notebook]) -> list[Finding]:
    """The first value of a rank that isn't the one of the same rank in a run that never stops, as
    a list.
    """
    from simmesh.one_device import notebook as notes
    from simmesh.one_device.snapshot import same_bits
    from simmesh.one_device.verdict import Finding

    for rank, (whole, part) in enumerate(zip(unbroken, ranks)):
        one, (moved,) = _aligned(whole, [part])
        for key, entry in one.entries.items():
            other = moved.entries.get(key)
            if entry.snapshot is None or other is None or other.snapshot is None:
                continue
            if key.kind == notes.INITIAL and not whole.times_stepped.get(key.name):
                continue  # nothing says what it was before the last part
            if not same_bits(entry.snapshot.exact.elements, other.snapshot.exact.elements):
                text = f"rank {rank} has other bits than in a run on the same ranks without a stop"
                return [Finding(key, other.line, text)]
    return []


def _aligned(
    one: Notebook, ranks: Sequence[Notebook], stopped: Notebook | None = None
) -> tuple[Notebook, list[Notebook]]:
    """Copies of the notebooks with the entries of the last part, under one device's numbers of
    times. ``stopped`` is one device's that ends where the last part begins.
    """
    from simmesh.one_device import notebook as notes

    counts: dict[tuple[str, str], int] = {}
    for notebook in ranks:
        for name, count in notebook.counts.items():
            counts[name] = max(count, counts.get(name, 0))
    before = {name: max(one.counts[name] - counts.get(name, 0), 0) for name in one.counts}
    for name in before:
        if name[0] == notes.INITIAL:
            before[name] = 0
    steps = one.steps - max(each.steps for each in ranks)
    moved = [_moved(each, before, steps) for each in ranks]
    kept = {
        key: entry
        for key, entry in one.entries.items()
        if key.occurrence >= before[key.kind, key.name]
    }
    aligned = copy(one)
    aligned.entries = _as_loaded(one, kept, before, stopped)
    aligned.times_stepped = Counter()  # a part has fewer steps
    return aligned, moved


def _moved(rank: Notebook, before: Mapping[tuple[str, str], int], steps: int) -> Notebook:
    entries = {}
    for key, entry in rank.entries.items():
        shift = before.get((key.kind, key.name), 0)
        later = replace(key, occurrence=key.occurrence + shift)
        entries[later] = replace(entry, key=later, step=entry.step + steps)
    moved = copy(rank)
    moved.entries = entries
    return moved


def _as_loaded(
    one: Notebook,
    kept: dict[Any, Entry],
    before: Mapping[tuple[str, str], int],
    stopped: Notebook | None,
) -> dict[Any, Entry]:
    """The entries with parameters as they were before the last part in place of the initial ones,
    since a rank's initial ones are those that it has loaded.
    """
    from simmesh.one_device import notebook as notes

    for key in [each for each in kept if each.kind == notes.INITIAL]:
        times = before.get((notes.PARAMETER, key.name), 0)
        last = one.entries.get(notes.Key(notes.PARAMETER, key.name, times - 1))
        if last is None and stopped is not None:
            ends = stopped.counts[notes.PARAMETER, key.name]
            last = stopped.entries.get(notes.Key(notes.PARAMETER, key.name, ends - 1))
        if last is not None:
            kept[key] = replace(kept[key], snapshot=last.snapshot, step=last.step + 1)
    return kept
