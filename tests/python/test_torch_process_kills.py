"""Processes of a training with checkpoints that are killed: each run is reported, leaves nothing,
and goes on to the bits of the uninterrupted run.

``SIMMESH_KILLS=80`` kills each of the 4 processes at 20 points; the default is 4 points in all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import checkpointed_training
from checkpointed_training import RANKS
from test_torch_process_deaths import children, is_running, left_since

POINTS = 20
COUNT = min(int(os.environ.get("SIMMESH_KILLS", "4")), RANKS * POINTS)

# So that a few points are of all ranks, and of all parts of the run.
ALL = [(rank, point) for point in range(POINTS) for rank in range(RANKS)]
CHOSEN = [ALL[each * len(ALL) // COUNT + (each % RANKS if COUNT <= POINTS else 0)]
          for each in range(COUNT)]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[torch.Tensor], dict[int, int]]:
    """The parameters after the uninterrupted run, and the number of requests of each rank."""
    requests: dict[int, int] = {}

    def look(process: Any, number: int) -> None:
        requests[process.rank] = number

    folder = tmp_path_factory.mktemp("whole")
    checkpointed_training.run(folder)  # its processes import what the others begin with
    ran = checkpointed_training.run(tmp_path_factory.mktemp("again"), look)
    assert ran.outcome.ok, ran.outcome.report
    assert checkpointed_training.last_whole_step(folder) == checkpointed_training.STEPS
    return ran.results[0], requests


def at(point: int, requests: int) -> int:
    """The request of a point: the first for the first one, the last but one for the last one."""
    return 1 + point * (requests - 2) // (POINTS - 1)


def expect_resumed(folder: Path, expected: list[torch.Tensor]) -> None:
    """Goes on with the training to its end."""
    ran = checkpointed_training.run(folder)
    assert ran.outcome.ok, ran.outcome.report
    assert all(map(torch.equal, ran.results[0], expected))


@pytest.mark.filterwarnings("ignore:Detected an existing checkpoint")
@pytest.mark.parametrize(("rank", "point"), CHOSEN)
def test_a_killed_rank_is_reported_and_resumed(
    rank: int, point: int, whole: tuple[list[torch.Tensor], dict[int, int]], tmp_path: Path
) -> None:
    """Fails if a kill hangs the run, names another rank, or breaks a checkpoint."""
    expected, requests = whole
    request = at(point, requests[rank])

    def look(process: Any, number: int) -> None:
        if process.rank == rank and number == request:
            os.kill(process.pid, signal.SIGKILL)

    before, files = children(), os.listdir("/dev/shm")
    ran = checkpointed_training.run(tmp_path, look)
    assert ran.outcome.kind == "error"
    assert ran.outcome.rank == rank
    assert f"rank {rank}: expected a process that ends with its program, got one that was ended " \
        "by SIGKILL" in ran.outcome.report  # fmt: skip
    assert children() == before
    assert not left_since(files)
    expect_resumed(tmp_path, expected)


@pytest.mark.filterwarnings("ignore:Detected an existing checkpoint")
@pytest.mark.parametrize("point", range(7, POINTS, POINTS if COUNT < RANKS * POINTS else 4))
def test_a_killed_host_leaves_nothing_and_is_resumed(
    point: int, whole: tuple[list[torch.Tensor], dict[int, int]], tmp_path: Path
) -> None:
    """Fails if ranks outlive the process that started them, or leave a file in /dev/shm."""
    expected, requests = whole
    files = os.listdir("/dev/shm")
    request = at(point, requests[RANKS - 1])
    command = [sys.executable, checkpointed_training.__file__, str(tmp_path), str(request)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    ranks = [each.name.split()[1] for each in tmp_path.glob("process *")]
    assert len(ranks) == RANKS
    end = time.monotonic() + 60
    while any(map(is_running, ranks)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, ranks))
    assert not left_since(files)
    expect_resumed(tmp_path, expected)
