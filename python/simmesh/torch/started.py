"""Ranks in place of the processes that a program on the host starts by ``multiprocessing``.

A process that is started waits. When the host waits for one of them, or for what they put into a
queue or a pipe, all that wait run: each is a rank, in the order of their starts.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.queues
import multiprocessing.synchronize
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, Callable

from simmesh import _core
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.run import Run

#: Runs a body on as many ranks. The flag says that the ranks share the host's modules, as the
#: processes of a fork begin with them.
StartedRunner = Callable[[Callable[[int], Any], int, bool], Run]

# The exit code of a process that another one's failure ended: that of SIGTERM.
_ENDED = -15

# Functions in which the host waits for what only its processes bring.
_AWAITED = (
    (multiprocessing.queues.Queue, "get"),
    (multiprocessing.queues.SimpleQueue, "get"),
    (multiprocessing.connection.Connection, "recv"),
    (multiprocessing.connection.Connection, "poll"),
    (multiprocessing.synchronize.Event, "wait"),
)


class StartedProcesses:
    """The processes that wait for their run, and how those ended that ran."""

    def __init__(self, run: StartedRunner, function: Callable[[Any], Any] = lambda fn: fn) -> None:
        self._run = run
        self._function = function
        self._waiting: list[BaseProcess] = []
        self._codes: dict[BaseProcess, int | None] = {}

    def start(self, process: BaseProcess) -> None:
        """Lets a process wait for its run."""
        if process in self._codes:
            raise AssertionError("cannot start a process twice")
        self._codes[process] = None
        self._waiting.append(process)

    def knows(self, process: BaseProcess) -> bool:
        """True for a process that was started here."""
        return process in self._codes

    def code(self, process: BaseProcess) -> int | None:
        """The exit code of a process; None before its run."""
        return self._codes[process]

    def finish(self) -> None:
        """Runs the processes that wait. Raises RuntimeError with the report where the run failed
        by itself, as by a deadlock.
        """
        if not self._waiting or _core.rank() is not None:
            return
        waiting, self._waiting = self._waiting, []
        method = getattr(waiting[0], "_start_method", None) or multiprocessing.get_start_method()
        is_forked = method == "fork"

        def body(rank: int) -> None:
            process: Any = waiting[rank]
            target = process._target
            if target is not None and not is_forked:
                process._target = self._function(target)
            try:
                process.run()
            except SystemExit as exit:
                code = exit.code
                self._codes[process] = code if isinstance(code, int) else int(code is not None)
                if self._codes[process]:
                    raise RuntimeError(
                        f"[torch/started] expected process {rank} to end with status 0, got {code}"
                    ) from None
            self._codes[process] = self._codes[process] or 0

        outcome = self._run(body, len(waiting), is_forked).outcome
        for rank, process in enumerate(waiting):
            if self._codes[process] is None:
                self._codes[process] = 1 if rank == outcome.rank else _ENDED
        if outcome.exception is not None:
            traceback.print_exception(outcome.exception, file=sys.stderr)
        elif not outcome.ok:
            raise RuntimeError(outcome.report)


@contextmanager
def processes_are_ranks(started: StartedProcesses) -> Iterator[None]:
    """Lets processes of ``multiprocessing`` that the host starts be ranks."""
    patches = Patches()
    original = {name: getattr(BaseProcess, name) for name in ("start", "join", "is_alive")}
    ended = {name: getattr(BaseProcess, name) for name in ("terminate", "kill", "close")}

    def start(process: BaseProcess) -> None:
        if _core.rank() is not None:
            original["start"](process)
        else:
            started.start(process)

    def join(process: BaseProcess, timeout: float | None = None) -> None:
        if not started.knows(process):
            original["join"](process, timeout)
        else:
            started.finish()

    def is_alive(process: BaseProcess) -> bool:
        if not started.knows(process):
            return bool(original["is_alive"](process))
        started.finish()
        return False

    def exit_code(process: BaseProcess) -> int | None:
        if not started.knows(process):
            return _exit_code.fget(process)  # type: ignore[no-any-return]
        started.finish()
        return started.code(process)

    patches.replace(BaseProcess, "start", start)
    patches.replace(BaseProcess, "join", join)
    patches.replace(BaseProcess, "is_alive", is_alive)
    patches.replace(BaseProcess, "exitcode", property(exit_code))
    for name, function in ended.items():
        patches.replace(BaseProcess, name, _unless_known(started, function))
    for kind, name in _AWAITED:
        patches.replace(kind, name, _after_ranks(started, getattr(kind, name)))
    try:
        yield
        started.finish()
    finally:
        patches.undo()


_exit_code: Any = BaseProcess.exitcode


def _unless_known(started: StartedProcesses, function: Any) -> Any:
    def end(process: BaseProcess) -> None:
        if not started.knows(process):
            function(process)

    return end


def _after_ranks(started: StartedProcesses, function: Any) -> Any:
    def wait(*arguments: Any, **options: Any) -> Any:
        started.finish()
        return function(*arguments, **options)

    return wait
