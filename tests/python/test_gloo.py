"""Ranks compute the bits of the processes of a gloo job, when sums are added in the order of gloo's
ring.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import torch

import simmesh
from parallel_programs import PROGRAMS

WORLD_SIZE = 4


@pytest.fixture(scope="module")
def gloo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the processes of one job left their results."""
    folder = tmp_path_factory.mktemp("gloo")
    here = Path(__file__).parent
    processes = [
        subprocess.Popen(
            [sys.executable, "gloo_process.py", str(rank), str(WORLD_SIZE), str(folder)], cwd=here
        )
        for rank in range(WORLD_SIZE)
    ]
    assert [process.wait() for process in processes] == [0] * WORLD_SIZE
    return folder


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors in what a program returned."""
    return [value] if isinstance(value, torch.Tensor) else list(value)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_equals_processes_of_gloo(program: Callable[[], Any], gloo: Path) -> None:
    """Would fail if a collective, or a parallelism on top of it, computed something else than it
    does with gloo.
    """
    ran = simmesh.spmd_run(program, world_size=WORLD_SIZE, arithmetic="as_gloo_ring")
    assert ran.outcome.ok, ran.outcome.report
    for rank in range(WORLD_SIZE):
        expected = tensors_of(torch.load(gloo / f"{program.__name__}_{rank}.pt"))
        actual = tensors_of(ran.results[rank])
        assert len(actual) == len(expected) > 0
        for one, other in zip(actual, expected):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
