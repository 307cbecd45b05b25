"""Ranks in place of the threads of MultiThreadedTestCase, and of those that the decorator
spawn_threads_and_init_comms starts for one test.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch.distributed as dist
from torch.testing._internal import common_distributed
from torch.testing._internal.common_distributed import MultiThreadedTestCase

from simmesh.torch_tests.ranks import Ending, run_ranks


class _Threads(list):  # type: ignore[type-arg]
    """In place of the list of threads: the test that they would run."""

    def __init__(self, test: Any) -> None:
        super().__init__()
        self.test = test


def install() -> None:
    """Lets the ranks of a test run where its threads would be joined."""
    MultiThreadedTestCase._spawn_threads = _spawn_threads
    MultiThreadedTestCase._join_threads = classmethod(_join_threads)
    MultiThreadedTestCase.run_test_with_threaded_pg = _run_test
    common_distributed.spawn_threads_and_init_comms = _with_ranks


def _spawn_threads(self: Any) -> None:
    type(self).global_store = dist.HashStore()
    self.threads = _Threads(self)


def _join_threads(cls: Any, threads: _Threads, function: Any) -> None:
    test = threads.test
    name, world_size = test._current_test_name, test.world_size

    def body(rank: int, ending: Ending) -> None:
        cls._run(name, rank, world_size)

    _check(cls, run_ranks(body, world_size), function)


def _check(cls: Any, endings: list[Ending], function: Any) -> None:
    """Raises what the ranks raised, in the words of the threads' harness."""
    failed = []
    for rank, ending in enumerate(endings):
        error = ending.exception
        if error is None and ending.exit_code:
            error = SystemExit(ending.exit_code)
        if error is not None:
            failed.append((rank, (type(error), error, error.__traceback__)))
    cls._check_return_codes(failed, 0, function)


def _run_test(self: Any, test_name: str, rank: int, world_size: int) -> None:
    # Unlike torch's, it lets an exception leave the rank, which ends the others.
    dist.init_process_group(
        backend="threaded", rank=rank, world_size=world_size, store=type(self).global_store
    )
    self.perThreadSetUp()
    try:
        getattr(self, test_name)()
    finally:
        self.perThreadTearDown()
    dist.destroy_process_group()


def _with_ranks(
    function: Callable[..., Any] | None = None,
    timeout: float | None = None,
    world_size: int = common_distributed.DEFAULT_WORLD_SIZE,
) -> Any:
    """Replaces spawn_threads_and_init_comms. A rank that waits for ever is reported at once, so
    the timeout has no use.
    """
    if function is None:
        return functools.partial(_with_ranks, timeout=timeout, world_size=world_size)

    @functools.wraps(function)
    def wrapper(self: Any, *arguments: Any, **options: Any) -> None:
        store = dist.HashStore()

        def body(rank: int, ending: Ending) -> None:
            dist.init_process_group(
                backend="threaded", rank=rank, world_size=world_size, store=store
            )
            function(self, *arguments, **options)
            dist.destroy_process_group()

        _check(MultiThreadedTestCase, run_ranks(body, world_size), function)

    return wrapper
