"""``same_when_resumed``: a training that stops and continues, beside one that never stops."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simmesh.one_device.comparison import Comparison, DiffersFromOneDevice, observe
from simmesh.one_device.layout import layouts_of

if TYPE_CHECKING:
    from simmesh.one_device.notebook import Entry, Notebook

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
    compared with the one that is as many calls from the end of one device's run.

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
        whole, parts = Path(place) / "whole", Path(place) / "parts"
        whole.mkdir()
        parts.mkdir()
        alone = chosen[0].on_one_device()
        one = observe(lambda mesh: program(mesh, whole, steps[-1]), alone, options)[0]
        for layout, until in zip(chosen, steps):
            ranks = observe(lambda mesh, until=until: program(mesh, parts, until), layout, options)
    one, ranks = _aligned(one, ranks)
    comparison = Comparison([judge(one, ranks, chosen[-1])])
    if comparison.has_faults:
        raise DiffersFromOneDevice(comparison)
    return comparison


def _aligned(one: Notebook, ranks: Sequence[Notebook]) -> tuple[Notebook, list[Notebook]]:
    """The notebooks with the entries of the last part, under one device's numbers of times."""
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
    one.entries = _as_loaded(one, kept, before)
    one.times_stepped.clear()  # a part has fewer steps
    return one, moved


def _moved(rank: Notebook, before: Mapping[tuple[str, str], int], steps: int) -> Notebook:
    entries = {}
    for key, entry in rank.entries.items():
        shift = before.get((key.kind, key.name), 0)
        later = replace(key, occurrence=key.occurrence + shift)
        entries[later] = replace(entry, key=later, step=entry.step + steps)
    rank.entries = entries
    return rank


def _as_loaded(
    one: Notebook, kept: dict[Any, Entry], before: Mapping[tuple[str, str], int]
) -> dict[Any, Entry]:
    """The entries with parameters as they were before the last part in place of the initial ones,
    since a rank's initial ones are those that it has loaded.
    """
    from simmesh.one_device import notebook as notes

    for key in [each for each in kept if each.kind == notes.INITIAL]:
        times = before.get((notes.PARAMETER, key.name), 0)
        last = one.entries.get(notes.Key(notes.PARAMETER, key.name, times - 1))
        if last is not None:
            kept[key] = replace(kept[key], snapshot=last.snapshot, step=last.step + 1)
    return kept
