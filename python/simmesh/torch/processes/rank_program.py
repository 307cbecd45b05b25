"""The program of a rank's process, from the fork to its end."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import io
import multiprocessing.process
import os
import pickle
import signal
import sys
from multiprocessing import util
from typing import Any, Callable

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation import packages
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.thread import share_groups
from simmesh.torch.processes import shared_locks, shared_services
from simmesh.torch.processes.carried_error import carried
from simmesh.torch.processes.channel import Channel, ChannelClosed
from simmesh.torch.processes.differentiation import settle_thread_pool
from simmesh.torch.processes.imports import imported_since
from simmesh.torch.processes.operand_memory import OperandMemory
from simmesh.torch.processes.rank_core import RankCore
from simmesh.torch.processes.rank_process import SHOW_CALLS
from simmesh.torch.processes.seat import Facts
from simmesh.torch.processes.sent_value import sent_value

_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)


def run_program(
    rank: int, channel: Channel, address: int, calls: int, runs_ahead: bool,
    body: Callable[[int], Any], enter: Callable[[int], None],
) -> None:  # fmt: skip
    """Runs ``body(rank)`` in this process, which was forked for it, and sends how it ended.
    ``enter`` loads the rank's state. Doesn't return.
    """
    status = 1
    try:
        _become_own_process(calls)
        core = RankCore(rank, channel, OperandMemory(address), runs_ahead)
        patches = Patches()
        core.install(patches)
        enter(rank)
        state = rank_state.of_rank()
        state.shared = shared_services.RemoteState(core, state.shared)
        shared_services.install(core, patches)
        shared_locks.install(core, patches)
        _print_at_seat(core)
        for name, value in os.environ.items():
            os.putenv(name, value)
        core.begin()
        channel.send_bytes(_message_of(lambda: body(rank), list(sys.modules)))
        flush_c_streams()
        status = 0
    except ChannelClosed:
        pass
    except BaseException as error:
        with contextlib.suppress(BaseException):
            channel.send(("end", False, carried(error), None))
    finally:
        _exit(status)


_exit = os._exit


def _message_of(program: Callable[[], Any], modules: list[str]) -> bytes:
    """Runs the program, and returns the message of its end. ``modules`` were there before it."""
    try:
        value = program()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        return pickle.dumps(("end", False, carried(error), _facts(modules)))
    return pickle.dumps(("end", True, sent_value(value), _facts(modules)))


def _facts(modules: list[str]) -> Facts:
    state = rank_state.of_rank()
    has_threads = state.has_started_threads or bool(state.foreign)
    return Facts(
        state.calls, bool(state.groups), state.shared.unwatched, has_threads,
        packages.isolated_here(), imported_since(modules),
    )  # fmt: skip


def _become_own_process(calls: int) -> None:
    """Drops what belongs to the parent: its garbage, children, signals and crash reports."""
    gc.freeze()
    multiprocessing.process._children = set()  # type: ignore[attr-defined]
    util._finalizer_registry.clear()  # type: ignore[attr-defined]
    # The parent decides what an interruption ends.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    for number in _CRASHES:
        signal.signal(number, signal.SIG_DFL)
    faulthandler.disable()
    faulthandler.enable(calls)
    faulthandler.register(SHOW_CALLS, calls)
    settle_thread_pool(1)
    share_groups()

    def exit_with_calls(status: int) -> None:
        if _core.rank() is not None:
            faulthandler.dump_traceback(calls)
        _exit(status)

    os._exit = exit_with_calls  # type: ignore[assignment]


class _Print(io.RawIOBase):
    """A stream whose bytes the seat writes, in the order of its requests."""

    def __init__(self, core: RankCore, stream: str, file: int) -> None:
        self._core = core
        self._stream = stream
        self._file = file

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file

    def write(self, data: Any) -> int:
        written = bytes(data)
        if _core.rank() is None:  # a process that the rank forked
            return os.write(self._file, written)
        self._core.tell("print", self._stream, written)
        return len(written)


def _print_at_seat(core: RankCore) -> None:
    for file, stream in ((1, "stdout"), (2, "stderr")):
        raw: Any = _Print(core, stream, file)
        setattr(sys, stream, io.TextIOWrapper(raw, encoding="utf-8", line_buffering=True))


def flush_c_streams() -> None:
    """Writes what C code has printed."""
    ctypes.CDLL(None).fflush(None)
