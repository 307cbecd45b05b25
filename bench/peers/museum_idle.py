"""Tells threads that wait for ever from threads that a busy machine keeps waiting."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

_AWAKE = ("R", "D")
_AWAKE_NOW_AND_THEN, _AWAKE_MOSTLY = 0.1, 0.5


class Activity:
    """The last looks at threads: were any ready to run? A thread that a busy machine keeps waiting
    is ready to run all the time, so load doesn't decide.
    """

    EACH = 0.1  # seconds between looks
    LAST = 15.0  # seconds

    def __init__(self) -> None:
        self._looks: deque[bool] = deque(maxlen=round(self.LAST / self.EACH))

    def look(self, processes: Iterable[int], own: int = 0) -> None:
        """Looks at the threads of processes, but not at the thread ``own``."""
        self._looks.append(any(_is_awake(each, own) for each in processes))

    @property
    def is_over(self) -> bool:
        """True if hardly ever a thread was ready to run: nothing will happen any more."""
        return len(self._looks) == self._looks.maxlen and self._awake <= _AWAKE_NOW_AND_THEN

    @property
    def is_busy(self) -> bool:
        """True if threads were ready to run most of the time. One that waits for others wakes now
        and then to look, and on a busy machine is ready to run for longer than it runs.
        """
        return self._awake > _AWAKE_MOSTLY

    @property
    def _awake(self) -> float:
        return sum(self._looks) / max(len(self._looks), 1)


def ends(done: Callable[[], bool]) -> bool:
    """Waits until ``done()`` is true. Returns false where only the caller's thread was ready to
    run for long.
    """
    activity = Activity()
    while not done():
        time.sleep(activity.EACH)
        activity.look([os.getpid()], threading.get_native_id())
        if activity.is_over:
            return done()
    return True


def _is_awake(process: int, own: int) -> bool:
    """True if a thread of a process, other than ``own``, is ready to run."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:  # it has just ended
        return False
    for task in tasks:
        if task.name == str(own):
            continue
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state in _AWAKE:
            return True
    return False
