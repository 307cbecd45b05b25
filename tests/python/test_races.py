"""Programs whose result depends on the schedule: each is caught, and its schedule is shortened."""

from __future__ import annotations

import re
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist

import simmesh


def caught(program: Callable[[], Any]) -> str:
    """The shortest schedule that shows the race of ``program``."""
    test = simmesh.spmd(world_size=4, schedules=40)(program)
    with pytest.raises(simmesh.SpmdFailure) as raised:
        test()
    text = str(raised.value)
    assert "expected equal bits under every schedule" in text
    assert text.splitlines()[-1].startswith("reproduce: pytest tests/python/test_races.py::test_")
    found = re.search(r"^schedule: (guided:[0-9,*]*)", text, re.MULTILINE)
    assert found is not None, text
    return found.group(1)


def turns(schedule: str) -> int:
    """Returns the number of turns that a schedule guides; "2*3" is three of rank 2."""
    runs = [turn.split("*") for turn in schedule.partition(":")[2].split(",") if turn]
    return sum(int(run[1]) if len(run) > 1 else 1 for run in runs)


def writes_a_buffer_under_way() -> torch.Tensor:
    tensor = torch.full((4,), float(dist.get_rank() + 1))
    work = dist.all_reduce(tensor, async_op=True)
    if dist.get_rank() == 2:
        tensor.add_(100)
    work.wait()
    return tensor


def reads_before_wait() -> torch.Tensor:
    pieces = [torch.zeros(2) for _ in range(4)]
    work = dist.all_gather(pieces, torch.full((2,), float(dist.get_rank() + 1)), async_op=True)
    early = torch.stack(pieces)
    work.wait()
    return early


def receives_from_anyone() -> torch.Tensor:
    if dist.get_rank() != 0:
        dist.send(torch.tensor([float(dist.get_rank())]), 0)
        return torch.zeros(0)
    order = torch.zeros(3)
    for index in range(3):
        piece = torch.zeros(1)
        dist.recv(piece)
        order[index] = piece.item()
    return order


def test_write_under_way_is_caught() -> None:
    """Would fail if operands were copied when the operation starts."""
    assert turns(caught(writes_a_buffer_under_way)) <= 8


def test_read_before_wait_is_caught() -> None:
    """Would fail if results came when the rank waits, and not when the last member has come."""
    assert turns(caught(reads_before_wait)) <= 8


def test_receive_from_anyone_is_caught() -> None:
    """Would fail if senders were served in rank order."""
    assert turns(caught(receives_from_anyone)) <= 8


def test_shortened_schedule_shows_the_race_again() -> None:
    """Would fail if the schedule in the report were not the one that failed."""
    schedule = caught(reads_before_wait)
    runs = [
        simmesh.spmd_run(reads_before_wait, schedule=each) for each in ("fifo", schedule, schedule)
    ]
    assert runs[0].outcome.data_hash != runs[1].outcome.data_hash
    assert runs[1].outcome.data_hash == runs[2].outcome.data_hash
    assert runs[1].outcome.schedule_hash == runs[2].outcome.schedule_hash
