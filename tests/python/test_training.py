"""torch's parallelisms run unedited and compute equal bits under 100 schedules."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch  # noqa: F401

import simmesh
from parallel_programs import PARALLELISMS, PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_equal_bits_under_many_schedules(program: Callable[[], Any]) -> None:
    """Would fail if the result of a parallelism depended on the order in which ranks run."""
    simmesh.spmd(schedules=100 if program in PARALLELISMS else 20)(program)()
