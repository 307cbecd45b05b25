"""Runs one of torch's test cases on all ranks, and reports each rank's end as that of its
process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from simmesh import _core
from simmesh.spmd import settings
from simmesh.torch import run
from simmesh.torch.schedules import Schedule, schedules_to_try
from simmesh.torch_tests import profile

#: The number of schedules under which each test runs.
schedules = 1

#: The number of tests that ran ranks until now.
runs = 0


@dataclass
class Ending:
    """The end of a rank: its exit code, its exception, and its messages to the host."""

    exit_code: int = 0
    exception: BaseException | None = None
    messages: list[Any] = field(default_factory=list)


class TestFailed(BaseException):
    """Ends the other ranks when the harness of a test reports a failure by an exit code."""

    __test__ = False


def run_ranks(
    body: Callable[[int, Ending], object],
    ranks: int,
    error_code: int | None = None,
    isolate: Sequence[Any] = (),
    between: Callable[[], object] = lambda: None,
) -> list[Ending]:
    """Runs ``body(rank, ending)`` on every rank and under every schedule; returns the endings of
    the last run. ``between`` is called on the host before every run but the first.

    A rank that exits with ``error_code`` or by an exception ends the others, and no further
    schedule is tried. Raises the core's report if the run fails by itself: a deadlock, a mismatch,
    a rank that blocks.
    """
    global runs
    runs += 1
    endings: list[Ending] = []
    for index, schedule in enumerate(schedules_to_try(schedules)):
        if index > 0:
            between()
        endings = [Ending() for _ in range(ranks)]
        _run_once(body, endings, schedule, error_code, isolate)
        if any(ending.exit_code == error_code or ending.exception for ending in endings):
            break
    return endings


def _run_once(
    body: Callable[[int, Ending], object],
    endings: list[Ending],
    schedule: Schedule,
    error_code: int | None,
    isolate: Sequence[Any],
) -> None:
    def on_rank(rank: int) -> None:
        try:
            body(rank, endings[rank])
        except SystemExit as exit:
            endings[rank].exit_code = (
                exit.code if isinstance(exit.code, int) else int(bool(exit.code))
            )
            if endings[rank].exit_code == error_code:
                raise TestFailed() from None
        except _core.RankEnded:
            raise
        except BaseException as error:
            endings[rank].exception = error
            raise

    with profile.rank_profiles():
        outcome = run(
            on_rank, len(endings), schedule=schedule, isolate=isolate, environment=lambda rank: {},
            program=os.environ.get("PYTEST_CURRENT_TEST", ""), local=settings.local,
        ).outcome  # fmt: skip
    if outcome.kind == "blocked":
        settings.spoiled = outcome.message
    if outcome.ok or any(ending.exception for ending in endings):
        return
    if isinstance(outcome.exception, TestFailed):
        return
    sys.stderr.write(outcome.report)
    raise RuntimeError(outcome.report)
