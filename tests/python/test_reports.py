"""Deadlocks and mismatches are reported at once, with every part named."""

from __future__ import annotations

import inspect
import time
from typing import Any, Callable

import torch
import torch.distributed as dist

import simmesh


def failure(program: Callable[[], Any], kind: str) -> str:
    """The report of a run that must fail within a second."""
    simmesh.spmd_run(lambda: None)
    begin = time.perf_counter()
    outcome = simmesh.spmd_run(program).outcome
    assert time.perf_counter() - begin < 1
    assert outcome.kind == kind, outcome.report
    return str(outcome.report)


def line_of(program: Callable[[], Any], text: str) -> str:
    """`file:line` of the line of ``program`` that holds ``text``."""
    lines, first = inspect.getsourcelines(program)
    return f"test_reports.py:{first + next(i for i, line in enumerate(lines) if text in line)}"


def test_deadlock_names_operation_group_ranks_and_lines() -> None:
    """Would fail if a rank that never comes had to be found by hand."""

    def program() -> None:
        pair = dist.new_group([1, 3], group_desc="pair")
        tensor = torch.ones(3)
        if dist.get_rank() == 3:
            dist.recv(tensor, 2)
        elif dist.get_rank() == 1:
            dist.all_reduce(tensor, group=pair)
        dist.barrier()

    report = failure(program, "deadlock")
    for part in (
        "all_reduce #0 of 1 [1, 3]",
        "receive from rank 2",
        "barrier #0 of 0 [0, 1, 2, 3]",
    ):
        assert part in report
    assert line_of(program, "dist.recv(") in report
    assert line_of(program, "dist.all_reduce(") in report
    assert report.count(f"[0, 1, 2, 3], {line_of(program, 'dist.barrier(')}") == 2
    for rank in range(4):
        assert f"rank {rank}" in report


def test_mismatched_operations_name_both_sides() -> None:
    """Would fail if ranks could run different collectives against each other."""

    def program() -> None:
        tensor = torch.ones(4)
        if dist.get_rank() == 2:
            dist.broadcast(tensor, 0)
        else:
            dist.all_reduce(tensor)

    report = failure(program, "error")
    assert "broadcast" in report
    assert "all_reduce" in report


def test_mismatched_shapes_name_both_sides() -> None:
    """Would fail if tensors of different sizes were added."""

    def program() -> None:
        dist.all_reduce(torch.ones(5 if dist.get_rank() == 1 else 4))

    report = failure(program, "error")
    assert "5" in report
    assert "4" in report


def test_a_rank_that_never_sets_a_key_is_reported() -> None:
    """Would fail if waiting for a store were no wait of a rank."""

    def program() -> None:
        store = dist.TCPStore("localhost", 29501, 4, dist.get_rank() == 0)
        if dist.get_rank() == 0:
            store.get("missing key")

    report = failure(program, "deadlock")
    assert "missing key" in report


def test_a_named_timeout_ends_a_wait() -> None:
    """Would fail if a program's own timeout took wall time or were ignored."""

    def program() -> str:
        from datetime import timedelta

        if dist.get_rank() == 0:
            try:
                dist.barrier(async_op=True).wait(timedelta(hours=1))
            except RuntimeError as error:
                return str(error)
        return ""

    ran = simmesh.spmd_run(program)
    assert ran.outcome.ok, ran.outcome.report
    assert "Timed out" in ran.results[0]
