"""Runs a program under many schedules, compares their bits, and shortens the one that fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from simmesh import _core


@dataclass
class Trial:
    """One run of the program: its schedule, its outcome, the results of its ranks, and the
    operations that they started.
    """

    schedule: Any
    outcome: _core.Outcome
    results: list[Any]
    calls: Sequence[Any] = ()


@dataclass
class Exploration:
    """The result of an exploration: the first trial, the number of schedules, and the shortest
    trial that failed or differs from the first.
    """

    first: Trial
    schedules: int
    failure: Trial | None = None

    @property
    def differs(self) -> bool:
        """True if the failure computes other bits; False if it ends by an error."""
        return self.failure is not None and self.failure.outcome.ok


def explore(
    run: Callable[[Any], Trial],
    schedules: Iterable[Any],
    runs_max: int = 200,
    shrinkable: Callable[[Trial], bool] = lambda trial: True,
) -> Exploration:
    """Runs the schedules in their order until one fails or computes other bits than the first
    one.

    A failure that needs its schedule is then run again under shorter ones, at most ``runs_max``
    times. A failure under the first schedule is kept as it is.
    """
    first: Trial | None = None
    count = 0
    for schedule in schedules:
        trial = run(schedule)
        count += 1
        if first is None:
            first = trial
            if not trial.outcome.ok:
                return Exploration(first, count, first)
        elif fails(first, trial):
            if not shrinkable(trial):
                return Exploration(first, count, trial)
            return Exploration(first, count, shrink(run, first, trial, runs_max))
    assert first is not None
    return Exploration(first, count)


def fails(first: Trial, trial: Trial) -> bool:
    """True if a run ended by an error or computed other bits than the first one."""
    return not trial.outcome.ok or trial.outcome.data_hash != first.outcome.data_hash


def shrink(run: Callable[[Any], Trial], first: Trial, failing: Trial, runs_max: int) -> Trial:
    """Returns the failing run under the shortest schedule; the given one if no other fails."""

    def still_fails(schedule: str) -> bool:
        trial = run(schedule)
        # Another kind of failure would be another bug.
        return trial.outcome.kind == failing.outcome.kind and fails(first, trial)

    shortest = _core.shrink(failing.outcome.choices, still_fails, runs_max)
    if shortest is None:
        return failing
    trial = run(shortest)
    return trial if fails(first, trial) else failing
