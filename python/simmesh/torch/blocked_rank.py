"""The end of a process in which a rank never gave up its turn."""

from __future__ import annotations

import atexit
import ctypes
import sys
import time

_WAIT_SECONDS = 1.0


def end_at_exit(thread: int) -> None:
    """Lets the thread of a rank that was given up end before the interpreter does.

    A thread that runs Python when the interpreter is finalized is ended wherever it next asks for
    the interpreter's lock. In C++ of torch, as in a loop that reads a tensor, that ends the process
    with an abort.
    """
    atexit.register(_end, thread)


def _end(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
    end = time.monotonic() + _WAIT_SECONDS
    while thread in sys._current_frames() and time.monotonic() < end:
        time.sleep(0.005)
