"""Locks of multiprocessing that ranks share which are processes: the schedule orders them."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import simmesh

SCHEDULES = ("fifo", "seeded:1", "seeded:2", "pct:2")


def run(program: Any, **options: Any) -> Any:
    return simmesh.spmd_run(program, seats="processes", world_size=2, **options)


@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_the_schedule_says_who_takes_a_lock_first(kind: str, tmp_path: Path) -> None:
    """Would fail if the machine said it, or if two ranks held a lock at once."""
    lock = getattr(multiprocessing, kind)()

    def program() -> str:
        for number in range(3):
            torch.ones(200_000 * (1 + dist.get_rank())).sum()
            with lock:
                path = tmp_path / "order"
                text = path.read_text() if number or path.exists() else ""
                time.sleep(1)
                path.write_text(f"{text}{dist.get_rank()}")
        dist.barrier()
        return path.read_text()

    orders = set()
    for schedule in SCHEDULES:
        found = []
        for _ in range(2):
            ran = run(program, schedule=schedule)
            assert ran.outcome.ok, ran.outcome.report
            found.append((ran.results, ran.outcome.schedule_hash))
            (tmp_path / "order").unlink()
        assert found[0] == found[1]
        orders.add(found[0][0][0])
    assert all(sorted(order) == sorted("000111") for order in orders)
    assert len(orders) > 1
    assert lock.acquire(block=False)


def test_looks_and_time_limits_are_of_the_run() -> None:
    """Would fail if a rank that only looks waited, or waited for longer than it said."""
    lock = multiprocessing.Lock()

    def program() -> list[bool]:
        if dist.get_rank() == 0:
            with lock:
                dist.barrier()
                dist.barrier()
            dist.barrier()
            return []
        dist.barrier()
        found = [lock.acquire(block=False), lock.acquire(timeout=3600)]
        dist.barrier()
        dist.barrier()
        return [*found, lock.acquire(block=False)]

    began = time.monotonic()
    assert run(program).results[1] == [False, False, True]
    assert time.monotonic() - began < 600


def test_a_lock_that_a_rank_waits_for_twice_is_a_deadlock() -> None:
    """Would fail if a rank took a lock that it holds."""
    lock = multiprocessing.Lock()

    def program() -> None:
        with lock:
            lock.acquire()

    outcome = run(program).outcome
    assert outcome.kind == "deadlock"
    assert "that this thread holds already" in outcome.report
    assert lock.acquire(block=False)


def test_locks_of_a_rank_and_recursive_ones_are_as_before() -> None:
    """Would fail if a lock that a rank made were taken for one that ranks share."""
    shared = multiprocessing.RLock()

    def program() -> bool:
        own = multiprocessing.Lock()
        with own, shared, shared:
            is_free = own.acquire(block=False)
        with shared:
            return not is_free and own.acquire(block=False)

    assert run(program).results == [True, True]
