"""The rivals of the museum's score: each looks at a program of an exhibit and says what it finds.

The threaded process group and gloo run a program, and find what raises or doesn't end. The
tolerance test compares what gloo's ranks return, note and end with with one process, to a relative
difference of 1e-4. LocalTensor's user compares the same, and the hashes of DebugMode compare it bit
for bit. Where ranks hold pieces, all are given simmesh's search for the layout, which their users
would write by hand.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from museum_results import Finding
from museum_runs import Job, Outcome, Values
from museum_workers import Worker, run_together
from simmesh.museum import checks
from simmesh.museum.collection import Card
from simmesh.one_device.layout import Layout
from simmesh.one_device.search import Allowed, find
from simmesh.one_device.snapshot import Exact

TOLERANCE = 1e-4
#: The seconds that gloo waits. Where ranks were busy up to the end, it gets the next, so that load
#: decides nothing.
WAITS = (40.0, 300.0)
_LATE = ("imed out", "failed to pass monitoredBarrier", "TimeoutError")
_PENDING = ("returned value", "noted value")


@dataclass(frozen=True)
class Part:
    """A run of an exhibit's program: on a layout, until a step."""

    layout: Mapping[str, int]
    steps: int | None = None


def parts_of(check: Any) -> list[Part]:
    """The runs that a check asks for; none for a rule or types, which are no programs on ranks."""
    if isinstance(check, checks.Resumed):
        return [Part(layout, steps) for layout, steps in zip(check.layouts, check.steps)]
    if isinstance(check, checks.SameAsOneDevice) and check.layouts:
        return [Part(check.layouts[0])]
    if isinstance(check, (checks.Replicas, checks.SameCheckpoint)) and check.layout:
        return [Part(check.layout)]
    if isinstance(check, (checks.Rule, checks.Typed)):
        return []
    return [Part({"dp": check.ranks})]


#: The rivals of each run of a program. What a run finds is kept for all of its rivals.
RUNS = {
    "local_tensor": ("local_tensor",),
    "threads": ("threads",),
    "spmd_types": ("spmd_types",),
    "gloo": ("gloo DETAIL",),
    "values": ("tolerance 1e-4", "DebugMode hashes"),
}
NAMES = tuple(name for names in RUNS.values() for name in names)


@dataclass
class Rivals:
    """All rivals, with the processes in which they run programs."""

    gloo: list[Worker] = field(default_factory=lambda: [Worker("gloo") for _ in range(8)])
    others: dict[str, Worker] = field(
        default_factory=lambda: {run: Worker(run) for run in ("local_tensor", "threads")}
    )

    def findings(self, card: Card, variant: str, run: str) -> dict[str, Finding]:
        """The findings of a run's rivals in a program."""
        check = card.load().check
        parts = parts_of(check)
        if not parts:
            return dict.fromkeys(RUNS[run], Finding(None))
        for wait in WAITS:
            ranks, is_late = self._ranks(run, card, variant, check, parts, wait)
            error = _error(ranks)
            if not (is_late and any(each in error for each in _LATE)):
                break
        found = dict.fromkeys(RUNS[run], Finding(error, bool(error)))
        compared = [name for name in RUNS[run] if name in _TOLERANCES]
        if error or not compared:
            return found
        has_one = isinstance(check, (checks.SameAsOneDevice, checks.Resumed))
        one = self._one_process(card, variant, check, parts) if has_one else Outcome()
        for name in compared:
            text = difference(check, one, ranks, parts, _TOLERANCES[name])
            found[name] = Finding(text)
        return found

    def _ranks(
        self, run: str, card: Card, variant: str, check: Any, parts: Sequence[Part], wait: float
    ) -> tuple[list[Outcome], bool]:
        """The outcomes of the ranks, or of the one process that has all ranks."""
        outcomes: list[Outcome] = []
        is_late = False
        with _folder() as place:
            for part in parts:
                job = replace(_job(card, variant, check, part, place), kind=run, waits=wait)
                if run in self.others:
                    workers, jobs = [self.others[run]], [job]
                else:
                    workers = self.gloo[: math.prod(part.layout.values())]
                    jobs = [replace(job, rank=rank) for rank in range(len(workers))]
                outcomes, is_late = run_together(workers, jobs)
                if _error(outcomes):
                    break
        return outcomes, is_late

    def _one_process(self, card: Card, variant: str, check: Any, parts: Sequence[Part]) -> Outcome:
        alone = replace(parts[-1], layout=dict.fromkeys(parts[-1].layout, 1))
        return self._ranks("values", card, variant, check, [alone], WAITS[-1])[0][0]

    def stop(self) -> None:
        """Ends all processes."""
        for worker in [*self.gloo, *self.others.values()]:
            worker.stop()


#: The tools that compare values. PyTorch's own tests compare those of LocalTensor by a tolerance.
_TOLERANCES = {"local_tensor": TOLERANCE, "tolerance 1e-4": TOLERANCE, "DebugMode hashes": 0.0}


def _error(outcomes: Sequence[Outcome]) -> str:
    """The errors of all ranks, as one may name what another doesn't."""
    return "\n".join(each.error for each in outcomes if each.error)


class _folder(tempfile.TemporaryDirectory[str]):
    """A folder that is removed, also where a killed process still writes into it."""

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.name, ignore_errors=True)
        self._finalizer.detach()  # type: ignore[attr-defined]


def _job(card: Card, variant: str, check: Any, part: Part, place: str) -> Job:
    has_folder = isinstance(check, (checks.Resumed, checks.SameCheckpoint))
    return Job(
        card.name, variant, dict(part.layout), place, steps=part.steps, has_folder=has_folder
    )


def difference(
    check: Any, one: Outcome, ranks: Sequence[Outcome], parts: Sequence[Part], tolerance: float
) -> str:
    """The first value of the ranks that isn't one process's, or isn't the same on replicas."""
    if not isinstance(check, (checks.SameAsOneDevice, checks.Replicas, checks.Resumed)):
        return ""  # the program has no result to compare
    layout = Layout(tuple(parts[-1].layout), tuple(parts[-1].layout.values()))
    values = [each.values for each in ranks]
    if isinstance(check, checks.Replicas):
        over = [layout.names.index(name) for name in check.over or layout.names]
        if check.options.get("at_end"):  # what ranks agree on then are parameters and buffers
            values = [_without_gradients(each) for each in values]
        return _of_replicas(values, layout, over, tolerance)
    return _of_one_process(one.values, values, layout, tolerance)


def _without_gradients(values: Values) -> Values:
    return {name: each for name, each in values.items() if not name.startswith("gradient of")}


def _of_one_process(
    one: Values, ranks: Sequence[Values], layout: Layout, tolerance: float
) -> str:  # fmt: skip
    for name, expected in one.items():
        got = [None if name not in each else Exact(each[name]) for each in ranks]
        if all(each is None for each in got):
            continue
        allowed = Allowed(pending=name.startswith(_PENDING), tolerance=tolerance, equal_parts=True)
        if find(Exact(expected), got, layout, allowed) is None:
            return f"{name} differs from one process's"
    return ""


def _of_replicas(
    ranks: Sequence[Values], layout: Layout, over: Sequence[int], tolerance: float
) -> str:  # fmt: skip
    for name in ranks[0]:
        first: dict[tuple[int, ...], torch.Tensor] = {}
        for rank, values in enumerate(ranks):
            place = tuple(at for dim, at in enumerate(layout.coordinates(rank)) if dim not in over)
            expected = first.setdefault(place, values.get(name, torch.empty(0)))
            got = values.get(name)
            if name.startswith("returned") or got is None:
                continue
            if got.shape != expected.shape or not _close(got, expected, tolerance):
                return f"{name} differs between ranks"
    return ""


def _close(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> bool:
    if tolerance == 0.0:
        return torch.equal(got, expected)
    return torch.allclose(got, expected, rtol=tolerance, equal_nan=True)
