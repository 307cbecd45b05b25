"""Ranks in place of the lasting processes of MultiProcContinuousTest: each test makes its ranks and
groups anew.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Callable

import torch.distributed as dist
from torch.testing._internal.common_distributed import TEST_SKIPS, MultiProcContinuousTest

from simmesh.torch_tests.ranks import Ending, run_ranks


def install() -> None:
    """Lets the ranks of a test run where the host would wait for its processes."""
    MultiProcContinuousTest._spawn_processes = classmethod(_spawn_processes)
    MultiProcContinuousTest._worker_run_main_wait = _run_or_wait


def _spawn_processes(cls: Any, world_size: int) -> None:
    cls.processes, cls.task_queues, cls.completion_queues = [], [], []
    cls.rdvz_file = f"ranks of {cls.__qualname__}"


def _run_or_wait(self: Any, function: Callable[[], None]) -> Any:
    @functools.wraps(function)
    def wrapper(self: Any) -> None:
        if self.rank == self.MAIN_PROCESS_RANK:
            _run_test(self)
        else:
            function()

    return types.MethodType(wrapper, self)


def _run_test(self: Any) -> None:
    cls = type(self)
    world_size = int(cls.world_size)
    # Each rank writes these in the class, which each process has for itself.
    for name in ("rank", "world_size", "pg"):
        if name not in vars(cls):
            setattr(cls, name, getattr(cls, name, None))
    # A class for as many GPUs as there are starts no process on a machine without one.
    if world_size == 0:
        return
    endings = run_ranks(
        lambda rank, ending: _work(cls, self.id(), rank, world_size, ending),
        world_size,
        isolate=[(cls, "rank"), (cls, "world_size"), (cls, "pg")],
    )
    for ending in endings:
        for skip in TEST_SKIPS.values():
            if ending.exit_code == skip.exit_code:
                self.skipTest(skip.message)
    for ending in endings:
        if ending.exception is not None:
            raise ending.exception
    codes = [ending.exit_code for ending in endings]
    self.assertEqual(codes, [0] * world_size)


def _work(cls: Any, test_id: str, rank: int, world_size: int, ending: Ending) -> None:
    cls.rank, cls.world_size = rank, world_size
    cls._init_pg(rank, world_size, cls.rdvz_file)
    cls._run_test_given_id(test_id)
    if dist.is_initialized():
        dist.destroy_process_group()
