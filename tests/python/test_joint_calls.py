"""Calls that all ranks must make, though they exchange nothing, are checked as collectives are.

If one of these fails, a program that hangs on gloo or NCCL passes here.
"""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

import simmesh


def report_of(program: Callable[[], Any], kind: str, **options: Any) -> str:
    """The report of a run that must fail in this way, under every schedule."""
    report = ""
    for schedule in ("fifo", "seeded:1", "seeded:2", "pct:2"):
        ran = simmesh.spmd_run(program, world_size=3, schedule=schedule, **options)
        assert ran.outcome.kind == kind, ran.outcome.report
        report = report or ran.outcome.report
    return report


def test_lists_that_differ_are_named_with_their_lines() -> None:
    def program() -> None:
        if dist.get_rank() == 0:
            dist.new_group([0])
        else:
            dist.new_group([2, 1])
        dist.barrier()

    report = report_of(program, "error")
    assert "joint call #0 of group 0 [0, 1, 2]: expected the same call of all 3 ranks" in report
    assert "rank 0 calls new_group([0]) at test_joint_calls.py:" in report
    assert "rank 1 calls new_group([1, 2]) at test_joint_calls.py:" in report


def test_members_alone_may_call_with_local_synchronization() -> None:
    def program() -> float:
        ranks = [0] if dist.get_rank() == 0 else [1, 2]
        group = dist.new_group(ranks, use_local_synchronization=True)
        tensor = torch.ones(1)
        dist.all_reduce(tensor, group=group)
        return tensor.item()

    ran = simmesh.spmd_run(program, world_size=3)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [1.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: dist.new_group([0, 1]),
        lambda: dist.new_subgroups_by_enumeration([[0, 1], [2]]),
        lambda: dist.new_subgroups(group_size=3),
        lambda: dist.split_group(split_ranks=[[0, 1], [2]]),
        lambda: init_device_mesh("cpu", (3,)),
        lambda: init_device_mesh("cpu", (3, 1)),
        lambda: DeviceMesh("cpu", [0, 2]),
    ],
)
def test_a_rank_that_never_calls_is_named_at_the_end(call: Callable[[], Any]) -> None:
    def program() -> None:
        dist.barrier()
        if dist.get_rank() != 1:
            call()

    report = report_of(program, "error")
    assert "rank 1 makes no such call" in report
    assert "rank 0 calls " in report
    assert "at test_joint_calls.py:" in report


def test_a_rank_that_never_calls_is_named_in_the_report_of_a_hang() -> None:
    def program() -> None:
        if dist.get_rank() != 1:
            dist.all_reduce(torch.ones(1), group=dist.new_group([0, 1]))
        dist.barrier()

    report = report_of(program, "deadlock")
    assert "rank 0 calls new_group([0, 1]) at test_joint_calls.py:" in report
    assert "rank 1 makes no such call" in report


def test_meshes_and_splits_that_differ_are_mismatches() -> None:
    def meshes() -> None:
        init_device_mesh("cpu", (3, 1) if dist.get_rank() == 0 else (1, 3))

    def splits() -> None:
        dist.split_group(split_ranks=[[0], [1, 2]] if dist.get_rank() else [[0, 1], [2]])

    assert "expected the same call of all 3 ranks" in report_of(meshes, "error")
    report = report_of(splits, "error")
    assert "rank 0 calls split_group([[0, 1], [2]])" in report
    assert "rank 1 calls split_group([[0], [1, 2]])" in report


def test_equal_calls_pass() -> None:
    """Would fail if groups made again, or in other groups, counted as others."""

    def program() -> None:
        init_device_mesh("cpu", (3, 1))
        dist.new_subgroups_by_enumeration([[0], [1, 2]])
        dist.new_group([2, 0])
        dist.new_group(backend="gloo")
        dist.destroy_process_group()
        dist.init_process_group("gloo")
        dist.new_group([1])

    ran = simmesh.spmd_run(program, world_size=3)
    assert ran.outcome.ok, ran.outcome.report
