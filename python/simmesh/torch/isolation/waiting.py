"""Waits with a time limit that end by it: the run's time passes for them, as for ``time.sleep``.

Clocks of ranks stand still while a rank waits outside of simmesh, so a loop that waits until a
clock shows an end, as ``queue.Queue.get``, ``asyncio`` and ``multiprocessing`` have, would never
end.
"""

from __future__ import annotations

import contextlib
import queue
import select
import selectors
import threading
from typing import Any

from simmesh import _core
from simmesh.torch.isolation.clock import now
from simmesh.torch.isolation.patches import Patches

# Wall time for which a wait looks for an event that a thread or process of the rank may bring.
_LOOK = 0.05


def install(patches: Patches) -> None:
    """Lets time pass in waits of ``threading``, ``queue``, ``asyncio`` and ``select``."""
    patches.around_in_ranks(threading.Condition, "wait", _wait)
    patches.in_ranks(queue, "time", now)
    patches.in_ranks(threading, "_time", now)
    patches.around_in_ranks(select, "select", _select)
    for name in ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector",
                 "KqueueSelector"):  # fmt: skip
        if hasattr(selectors, name):
            patches.around_in_ranks(getattr(selectors, name), "select", _select_registered)


def _wait(of_python: Any, condition: Any, timeout: float | None = None) -> Any:
    """Python's own wait, with a look at events in wall time and the rest in that of the run."""
    if timeout is None or timeout <= 0 or not condition._is_owned():
        return of_python(condition, timeout)
    waiter = threading._allocate_lock()  # type: ignore[attr-defined]
    waiter.acquire()
    condition._waiters.append(waiter)
    saved = condition._release_save()
    is_notified = False
    try:
        is_notified = waiter.acquire(True, _real(timeout))
        if not is_notified:
            _core.sleep(float(timeout))
            is_notified = waiter.acquire(False)
        return is_notified
    finally:
        condition._acquire_restore(saved)
        if not is_notified:
            with contextlib.suppress(ValueError):
                condition._waiters.remove(waiter)


def _real(timeout: float) -> float:
    """The wall time for which to wait: short where no thread or process could end the wait."""
    alone = threading.active_count() <= _threads_of_ranks()
    return min(timeout, _LOOK) if alone else timeout


def _threads_of_ranks() -> int:
    return 1 + sum(isinstance(each, threading._DummyThread) for each in threading.enumerate())


def _select(of_python: Any, read: Any, write: Any, other: Any, timeout: Any = None) -> Any:
    found = of_python(read, write, other, timeout)
    if timeout is not None and timeout > 0 and not any(found):
        _core.sleep(float(timeout))
    return found


def _select_registered(of_python: Any, selector: Any, timeout: float | None = None) -> Any:
    # An event loop's own pipe wakes it for its threads only.
    alone = len(selector.get_map()) <= 1
    real = timeout if timeout is None or not alone else min(timeout, _real(timeout))
    found = of_python(selector, real)
    if timeout is not None and timeout > 0 and not found:
        _core.sleep(float(timeout))
    return found
