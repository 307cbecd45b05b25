"""Runs a program under many schedules, compares their bits, and shortens the one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from simmesh import _core
from simmesh.parallel_trials import first_that_fails

#: What is said of a program for which one run stands for all schedules.
CERTIFICATE = "1 run stands for all schedules: no operation's result depends on the order"


@dataclass
class Trial:
    """One run of the program: its schedule, its outcome, the results of its ranks, and the
    operations that they started.

    ``unwatched`` is what ranks used that no schedule knows of, if the run looked for that.
    """

    schedule: Any
    outcome: _core.Outcome
    results: list[Any]
    calls: Sequence[Any] = ()
    unwatched: tuple[str, ...] = ()


@dataclass
class Exploration:
    """The result of an exploration: the first trial, the number of schedules, and the shortest
    trial that failed or differs from the first.

    ``certificate`` says why one run stands for all schedules, if it does. Where all classes of
    equivalent schedules are looked for, ``schedules`` counts classes, ``complete`` is True if none
    is left out, ``estimate`` says how many there are, and ``unwatched`` is what ranks used whose
    order was not tried.
    """

    first: Trial
    schedules: int
    failure: Trial | None = None
    certificate: str = ""
    looks_for_all: bool = False
    complete: bool = False
    estimate: float = 0.0
    unwatched: list[str] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        """True if the failure computes other bits; False if it ends by an error."""
        return self.failure is not None and self.failure.outcome.ok

    def text(self) -> str:
        """Says in words how much was explored."""
        if self.certificate:
            return self.certificate
        if not self.looks_for_all:
            return f"{self.schedules} {'schedule' if self.schedules == 1 else 'schedules'}"
        word = "class" if self.schedules == 1 else "classes"
        text = f"{self.schedules} {word} of equivalent schedules, each run once"
        if not self.complete:
            text += f", of about {self.estimate:.3g}"
        if self.unwatched:
            text += f"; in other orders not tried: {'; '.join(self.unwatched)}"
        return text


#: Runs the program under a schedule, or the next class of a ``search``; ``watch`` is that of
#: ``simmesh.torch.run``.
Run = Callable[..., Trial]


def explore(
    run: Run,
    schedules: Sequence[Any],
    runs_max: int = 200,
    shrinkable: Callable[[Trial], bool] = lambda trial: True,
    certificate: bool = False,
    jobs: int = 1,
) -> Exploration:
    """Runs the schedules in their order until one fails or computes other bits than the first
    one.

    With a ``certificate`` it ends after the first run if that proves all others. With ``jobs`` that
    many processes run them side by side, which changes no result. A failure that needs its schedule
    is then run again under shorter ones, at most ``runs_max`` times. A failure under the first
    schedule is kept as it is.
    """
    first, is_watched = _first(run, schedules[0], certificate)
    if not first.outcome.ok:
        return Exploration(first, 1, first)
    if is_watched and is_certain(first):
        return Exploration(first, 1, certificate=CERTIFICATE)
    rest = schedules[1:]
    begin = 0
    if jobs > 1 and len(rest) > 1:
        from simmesh.torch.processes.differentiation import fork_for_training

        found = first_that_fails(
            lambda index: not fails(first, run(rest[index])), len(rest), jobs, fork_for_training
        )
        begin = len(rest) if found is None else found
    for count, schedule in enumerate(rest[begin:], begin + 2):
        trial = run(schedule)
        if not fails(first, trial):
            continue
        if is_watched:
            first, is_watched = run(schedules[0]), False
            if first.outcome.ok and not fails(first, trial):
                continue
        if not shrinkable(trial):
            return Exploration(first, count, trial)
        return Exploration(first, count, shrink(run, first, trial, runs_max))
    return Exploration(first, len(schedules))


def _first(run: Run, schedule: Any, certificate: bool) -> tuple[Trial, bool]:
    """The first trial, and whether it looked for all that could depend on the order. One that
    failed then runs again as it is.
    """
    if certificate:
        trial = run(schedule, watch="notes")
        if trial.outcome.ok or trial.outcome.kind in ("blocked", "interrupt"):
            return trial, True
    return run(schedule), False


def is_certain(trial: Trial) -> bool:
    """True if nothing of a run that looked for it depends on the order."""
    return trial.outcome.ok and not trial.outcome.depends_on_order and not trial.unwatched


def explore_all(
    run: Run,
    classes_max: int,
    runs_max: int = 200,
    shrinkable: Callable[[Trial], bool] = lambda trial: True,
    schedules: Sequence[Any] = (),
) -> Exploration:
    """Runs one schedule of each class of equivalent ones, until one fails or computes other bits
    than the first one, or ``classes_max`` of them were run.

    A failure is shortened. If only the steps of an exploration show it, the first of ``schedules``
    that fails in the same way is shortened in its place.
    """
    search = _core.Search()
    first: Trial | None = None
    unwatched: dict[str, None] = {}
    count = 0
    while not search.done and count < classes_max:
        trial = run(None, watch="asks" if first else "all", search=search)
        trial.schedule = trial.outcome.schedule
        first = first or trial
        count = search.classes
        unwatched.update(dict.fromkeys(trial.unwatched))
        if fails(first, trial):
            # A class that shows that more matters than was known counts, too.
            found = Exploration(first, max(count, 1), trial, looks_for_all=True)
            if shrinkable(trial):
                found.failure = _shrink_any(run, first, trial, runs_max, schedules)
            return found
    assert first is not None
    found = Exploration(first, count, looks_for_all=True, complete=search.done)
    found.estimate = search.estimate
    found.unwatched = list(unwatched)
    if search.done and count == 1 and is_certain(first):
        found.certificate = CERTIFICATE
    return found


def _shrink_any(
    run: Run, first: Trial, failing: Trial, runs_max: int, schedules: Sequence[Any]
) -> Trial:
    shortest = shrink(run, first, failing, runs_max)
    if shortest is not failing:
        return shortest
    for schedule in schedules:
        trial = run(schedule)
        if trial.outcome.kind == failing.outcome.kind and fails(first, trial):
            return shrink(run, first, trial, runs_max)
    return failing


def fails(first: Trial, trial: Trial) -> bool:
    """True if a run ended by an error or computed other bits than the first one."""
    return not trial.outcome.ok or trial.outcome.data_hash != first.outcome.data_hash


def shrink(run: Run, first: Trial, failing: Trial, runs_max: int) -> Trial:
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
