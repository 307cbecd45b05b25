"""Things that ranks could see in another order, and that no schedule knows of.

A run proves all schedules only if there was nothing of the kind. So a run that is to prove them
notes each first use: of threads, files that are written, the wall clock, memory that other code
may use, and locks that a rank holds while others run.
"""

from __future__ import annotations

import datetime
import os
import sys
import time
from typing import Any, Callable

import torch

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation import locks, methods, packages
from simmesh.torch.isolation.patches import Patches

# Events of Python's audit hooks: with writing or not, the file is the first argument.
_FILES = frozenset((
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "shutil.move", "shutil.copyfile", "shutil.rmtree",
))  # fmt: skip
_OUTSIDE = {
    "subprocess.Popen": "a process", "os.system": "a process", "os.fork": "a process",
    "os.posix_spawn": "a process", "socket.connect": "a socket", "socket.bind": "a socket",
    "mmap.__new__": "mapped memory", "ctypes.cdata": "memory by ctypes",
    "ctypes.cdata/buffer": "memory by ctypes",
}  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = ("/dev/", "/proc/")

_clock_names = (
    "clock_gettime", "clock_gettime_ns", "process_time", "process_time_ns", "thread_time",
    "thread_time_ns", "gmtime", "localtime", "ctime", "asctime", "strftime",
)  # fmt: skip
# Functions of ``time`` that read the clock only without this argument.
_TAKES_TIME = {"gmtime": 0, "localtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}

_DATES = ("now", "utcnow", "today")

_PATCHES = Patches._choose.__code__.co_filename
_hook_is_there = False
_is_on = False


def note(what: str) -> None:
    """Notes a use by the rank of this thread, with its line; nothing outside of ranks."""
    state = rank_state.current()
    if state is not None:
        noted = state.shared.unwatched
        if what not in noted:
            noted[what] = f"rank {state.rank} used {what} at {_core.call_site()}"


def install(patches: Patches) -> None:
    """Lets a run note these uses until it ends."""
    global _hook_is_there, _is_on
    if not _hook_is_there:
        sys.addaudithook(_audit)
        _hook_is_there = True
    _is_on = True
    patches.at_end(_end)
    for name in _clock_names:
        if hasattr(time, name):
            patches.around_in_ranks(time, name, _CLOCKS[name])
    for kind in (datetime.datetime, datetime.date):
        found = {name: _dated(kind, name) for name in _DATES if name in vars(kind)}
        methods.replace(patches, kind, found)
    for name in ("numpy", "__array__", "__dlpack__", "tolist"):
        patches.around_in_ranks(torch.Tensor, name, _READERS[name])
    patches.around_in_ranks(torch, "from_numpy", _from_numpy)
    patches.around_in_ranks(torch, "frombuffer", _from_numpy)


def look_at_locks(rank: int, seat: int) -> None:
    """Notes a lock that a seat of a rank holds though it has given up its turn."""
    state = rank_state.current()
    if state is not None and locks.held_by(seat) is not None:
        what = "a lock that it holds while others run"
        state.shared.unwatched.setdefault(what, f"rank {rank} used {what}")


def _end() -> None:
    global _is_on
    _is_on = False


def _is_own_call() -> bool:
    """True if simmesh itself calls the function that is replaced, as for the bits of results."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename in (__file__, _PATCHES) and frame.f_back is not None:
        frame = frame.f_back
    return bool(frame.f_globals.get("__name__", "").startswith("simmesh."))


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _is_on or _core.rank() is None or packages.is_importing():
        return
    if event == "open":
        path, _, flags = arguments[:3]
        writes = isinstance(flags, int) and flags & _WRITES
        if writes and isinstance(path, (str, bytes)) and not os.fsdecode(path).startswith(_DEVICES):
            note("a file that it writes")
    elif event in _FILES:
        note("files that it changes")
    elif event in _OUTSIDE and not _is_internal():
        note(_OUTSIDE[event])


def _is_internal() -> bool:
    frame = sys._getframe(2)
    return frame.f_globals.get("__name__", "").startswith("simmesh.")


def _clock(name: str) -> Callable[..., Any]:
    def read(of_python: Any, *arguments: Any) -> Any:
        place = _TAKES_TIME.get(name)
        if place is None or len(arguments) <= place:
            note("the wall clock")
        return of_python(*arguments)

    return read


_CLOCKS = {name: _clock(name) for name in _clock_names}


def _dated(kind: type, name: str) -> Any:
    of_python = vars(kind)[name]

    def read(cls: type, *arguments: Any, **options: Any) -> Any:
        note("the wall clock")
        return of_python.__get__(None, cls)(*arguments, **options)

    return classmethod(read)


def _reader(name: str) -> Callable[..., Any]:
    def read(of_torch: Any, tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        _read_outside(tensor, name, lasts=name != "tolist")
        return of_torch(tensor, *arguments, **options)

    return read


_READERS = {name: _reader(name) for name in ("numpy", "__array__", "__dlpack__", "tolist")}


def _from_numpy(of_torch: Any, *arguments: Any, **options: Any) -> Any:
    tensor = of_torch(*arguments, **options)
    _read_outside(tensor, "from_numpy", lasts=True)
    return tensor


def _read_outside(tensor: torch.Tensor, name: str, lasts: bool) -> None:
    """Notes code that gets at a tensor outside of operators, for longer than a call if it
    ``lasts``. Ranks whose operators are exact don't look whether an operation uses the tensor.
    """
    state = rank_state.current()
    under_way: Any = None if state is None else state.under_way
    if hasattr(under_way, "read_outside"):
        under_way.read_outside(tensor, name, lasts)
    elif under_way is not None and (lasts or under_way.started) and not _is_own_call():
        note(f"{name} of a tensor")
