"""A hook for harnesses that start the processes of their tests themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from simmesh import _core
from simmesh.torch import Run, Schedule, run, schedules_to_try
from simmesh.torch.spawned import raise_failure, spawn_replaced
from simmesh.torch.started import StartedProcesses, processes_are_ranks


@contextmanager
def processes_as_ranks(schedules: int = 1, **options: Any) -> Iterator[None]:
    """Runs ranks in place of the processes that the host starts, under so many schedules.

        @pytest.fixture(autouse=True)
        def ranks():
            with processes_as_ranks(schedules=5, isolate=["framework"]):
                yield

    This covers ``torch.multiprocessing.spawn`` and ``start_processes``, which run a function on
    ranks and raise what a rank raises, and processes of ``multiprocessing``, which run when the
    host waits for one. ``options`` are those of ``simmesh.torch.run``. Where data differs between
    schedules, the host gets an AssertionError.
    """

    def run_all(body: Callable[[int], Any], ranks: int) -> Run:
        first: Run | None = None
        for schedule in schedules_to_try(schedules):
            ran = run(body, ranks, schedule=schedule, **{"environment": lambda _: {}, **options})
            first = first or ran
            if not ran.outcome.ok:
                return ran
            if ran.outcome.data_hash != first.outcome.data_hash:
                _raise_difference(schedule, first, ran)
        assert first is not None
        return first

    def start(
        fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, *more: Any, **_: Any
    ) -> None:
        if _core.rank() is not None:
            raise RuntimeError(
                f"[torch_tests/harness] rank {_core.rank()}: expected a call on the host, got one "
                "in a rank"
            )
        raise_failure(run_all(lambda rank: fn(rank, *args), nprocs))

    started = StartedProcesses(lambda body, ranks, is_forked: run_all(body, ranks))
    with spawn_replaced(start), processes_are_ranks(started):
        yield


def _raise_difference(schedule: Schedule, first: Run, other: Run) -> None:
    raise AssertionError(
        f"[torch_tests/harness] expected equal bits under every schedule, got data hash "
        f"{other.outcome.data_hash:016x} after {first.outcome.data_hash:016x} under "
        f"{schedule.text}"
    )
