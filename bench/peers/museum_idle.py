"""Tells threads that wait for ever from threads that a busy machine keeps waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

_EACH = 0.1
_AWAKE = ("R", "D")
_AWAKE_MOST = 0.1


def ends(done: Callable[[], bool], after: float) -> bool:
    """Waits until ``done()`` is true. Returns false where for ``after`` seconds hardly ever a
    thread other than the caller's was ready to run: nothing will happen any more. A thread that a
    busy machine keeps waiting is ready to run all the time, so load doesn't decide.
    """
    own = threading.get_native_id()
    samples: list[bool] = []
    while not done():
        time.sleep(_EACH)
        samples.append(_is_awake(own))
        last = samples[-round(after / _EACH) :]
        if len(samples) >= after / _EACH and sum(last) <= _AWAKE_MOST * len(last):
            return done()
    return True


def _is_awake(own: int) -> bool:
    """True if a thread of this process, other than ``own``, is ready to run."""
    for task in Path("/proc/self/task").iterdir():
        if task.name == str(own):
            continue
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # it has just ended
            continue
        if state in _AWAKE:
            return True
    return False
