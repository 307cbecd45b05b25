"""Python functions as ranks: schedules change no data, and failures say where."""

from __future__ import annotations

import pytest

import simmesh
from simmesh import World


def sum_of_ranks(rank: int) -> float:
    """Returns an all_reduce of the ranks' numbers."""
    return simmesh.all_reduce(simmesh.full((2,), rank)).tolist()[0]


def test_returns_what_bodies_return() -> None:
    assert World(4).results(sum_of_ranks) == [6.0] * 4


def test_schedules_change_no_data() -> None:
    schedules = ("fifo", "seeded:7", "pct:2")
    outcomes = [World(4, schedule=one, seed=3).run(sum_of_ranks) for one in schedules]
    assert all(outcome.ok for outcome in outcomes)
    assert len({outcome.data_hash for outcome in outcomes}) == 1
    assert len({outcome.schedule_hash for outcome in outcomes}) > 1


def test_data_hash_covers_what_is_recorded() -> None:
    def recorded(value: int) -> int:
        return World(2).run(lambda rank: simmesh.record(simmesh.full((2,), value))).data_hash

    assert recorded(1) == recorded(1) != recorded(2)


def test_exceptions_come_through() -> None:
    def body(rank: int) -> None:
        if rank == 1:
            raise LookupError("of rank 1")
        simmesh.barrier()

    outcome = World(2).run(body)
    assert not outcome.ok and outcome.kind == "error" and outcome.rank == 1
    assert "of rank 1" in outcome.message
    with pytest.raises(LookupError, match="of rank 1"):
        World(2).results(body)


def test_deadlocks_name_lines() -> None:
    def body(rank: int) -> None:
        if rank == 0:
            simmesh.barrier()

    outcome = World(2).run(body)
    assert outcome.kind == "deadlock"
    assert "barrier" in outcome.report and "test_world.py:" in outcome.report
    with pytest.raises(RuntimeError, match="barrier"):
        World(2).results(body)


def test_mismatches_name_both_sides() -> None:
    def body(rank: int) -> None:
        simmesh.all_reduce(simmesh.zeros((2 + rank,)))

    outcome = World(2).run(body)
    assert outcome.kind == "error" and isinstance(outcome.exception, RuntimeError)
    assert "[2]" in outcome.message and "[3]" in outcome.message


def test_errors_can_be_caught_in_a_rank() -> None:
    def body(rank: int) -> str:
        try:
            simmesh.Placement("Q")
        except ValueError as error:
            return str(error)
        return ""

    assert all("expected" in text for text in World(2).results(body))


def test_ranks_may_not_be_asked_for_outside() -> None:
    for call in (simmesh.barrier, lambda: simmesh.init_device_mesh((2,))):
        with pytest.raises(RuntimeError, match="expected to be called by a rank"):
            call()


def test_nothing_of_a_run_changes_the_next() -> None:
    hashes = {World(3, schedule="seeded:1").run(sum_of_ranks).schedule_hash for _ in range(5)}
    assert len(hashes) == 1
