"""Ends the processes that a command started, such as workers of loaders, when SIGTERM ends it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

#: Seconds that processes have to end by themselves.
GRACE = 3.0


def end_children_on_sigterm() -> None:
    """Lets SIGTERM end this process as it does by default, and before that all processes below it:
    by SIGTERM, and by SIGKILL after the grace. Forks of this process end as by default.
    """
    owner = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() == owner:
            _end_all(_below(owner))
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)


def _below(process: int) -> list[int]:
    """The processes that a process started, and those that these started."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if fields := _fields(int(folder.name)):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = list(children.get(process, []))
    for child in found:
        found += children.get(child, [])
    return found


def _fields(process: int) -> list[str]:
    """The state of a process, its parent's id and so on; empty for one that is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _end_all(processes: list[int]) -> None:
    for process in processes:
        _send(process, signal.SIGTERM)
    stop = time.monotonic() + GRACE
    while any(map(_runs, processes)) and time.monotonic() < stop:
        time.sleep(0.02)
    for process in processes:
        if _runs(process):
            _send(process, signal.SIGKILL)


def _send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _runs(process: int) -> bool:
    """False once the process has ended, also if nobody has waited for it yet."""
    return _fields(process)[:1] not in ([], ["Z"], ["X"])
