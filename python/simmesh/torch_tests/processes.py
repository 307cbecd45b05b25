"""Ranks in place of the processes of MultiProcessTestCase."""

from __future__ import annotations

import itertools
import time
import traceback
from typing import Any

from torch.testing._internal.common_distributed import MultiProcessTestCase

from simmesh.torch_tests.ranks import Ending, run_ranks


class _Process:
    """Stands for a process that has ended, as far as the test case asks."""

    _ids = itertools.count(1)

    def __init__(self, exit_code: int) -> None:
        self.exitcode = exit_code
        self.pid = -next(self._ids)

    def terminate(self) -> None:
        pass


class _Pipe:
    """The rank's end and the host's end of a pipe in one."""

    def __init__(self, ending: Ending) -> None:
        self._messages = ending.messages

    def send(self, message: Any) -> None:
        self._messages.append(message)

    def recv(self) -> Any:
        return self._messages.pop(0)

    def close(self) -> None:
        pass


def install() -> None:
    """Lets the ranks of a test run where its processes would be joined."""
    MultiProcessTestCase._spawn_processes = _spawn_processes
    MultiProcessTestCase._start_processes = lambda self, proc: None
    MultiProcessTestCase._join_processes = _join_processes
    MultiProcessTestCase._event_listener = staticmethod(lambda parent, signal, rank: None)


def _spawn_processes(self: Any) -> None:
    self.processes = []


def _join_processes(self: Any, function: Any) -> None:
    name, begin = self._current_test_name(), time.time()
    options = {"fake_pg": getattr(self, "fake_pg", False)}

    def body(rank: int, ending: Ending) -> None:
        type(self)._run(rank, name, self.file_name, _Pipe(ending), **options)

    def between() -> None:
        # The test may leave files, which setUp makes anew.
        self.tearDown()
        self.setUp()

    error_code = MultiProcessTestCase.TEST_ERROR_EXIT_CODE
    ranks = int(self.world_size)
    # A test for as many GPUs as there are starts no process on a machine without one.
    endings = run_ranks(body, ranks, error_code, _class_state(self), between) if ranks else []
    for ending in endings:
        if ending.exception is not None:
            ending.exit_code = error_code
            ending.messages.append("".join(traceback.format_exception(ending.exception)))
    self.processes = [_Process(ending.exit_code) for ending in endings]
    self.pid_to_pipe = {
        process.pid: _Pipe(ending) for process, ending in zip(self.processes, endings)
    }
    self._check_return_codes(function, time.time() - begin)


def _class_state(self: Any) -> list[Any]:
    # distributed_test counts its barriers in a class; each process has that class for itself.
    module = __import__(type(self).__mro__[1].__module__, fromlist=["Barrier"])
    barrier = getattr(module, "Barrier", None)
    return [(barrier, "barrier_id")] if hasattr(barrier, "barrier_id") else []
