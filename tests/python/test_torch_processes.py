"""Ranks that are processes: the same bits, hashes and reports as ranks that are threads."""

from __future__ import annotations

from typing import Any, Callable

import process_programs
import pytest
import torch
import torch.distributed as dist

import simmesh

PROGRAMS = (
    process_programs.all_reduce, process_programs.collectives, process_programs.started_together,
    process_programs.data_parallel, process_programs.fully_sharded,
    process_programs.distributed_tensors, process_programs.takes_results_as_they_come,
)  # fmt: skip


def hashes(program: Callable[[], Any], seats: str, schedule: str, **options: Any) -> Any:
    """Everything that tells two runs apart."""
    ran = simmesh.spmd_run(program, world_size=4, schedule=schedule, seats=seats, **options)
    assert ran.outcome.ok, ran.outcome.report
    return ran.outcome.data_hash, ran.outcome.schedule_hash, ran.outcome.choices


@pytest.mark.parametrize("program", PROGRAMS)
def test_runs_are_those_of_threads(program: Callable[[], Any]) -> None:
    """Fails if the turn passes in another order than between threads, or a bit differs."""
    for schedule in ("fifo", "seeded:3"):
        expected = hashes(program, "threads", schedule)
        assert hashes(program, "processes", schedule) == expected
        assert hashes(program, "processes", schedule, run_ahead=False) == expected


def test_a_write_that_comes_too_early_has_the_bits_of_threads() -> None:
    """Fails if operands are read before the last member has come."""
    seen = set()
    for seed in range(12):
        expected = hashes(process_programs.writes_too_early, "threads", f"seeded:{seed}")
        assert hashes(process_programs.writes_too_early, "processes", f"seeded:{seed}") == expected
        seen.add(expected[0])
    assert len(seen) > 1


def test_results_come_back() -> None:
    """Fails if a rank's value or its calls are lost with its process."""
    ran = simmesh.spmd_run(process_programs.all_reduce, world_size=2, seats="processes")
    assert torch.equal(ran.results[0], ran.results[1])
    ran.expect(calls={"all_reduce": 1}, nbytes={"all_reduce": 12})


@simmesh.spmd(world_size=2, schedules=3, seats="processes")
def test_the_decorator_takes_seats() -> None:
    """Fails if schedules can't be tried on processes."""
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor[0] == 2
