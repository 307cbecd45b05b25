"""Locks of ``multiprocessing`` that the ranks of a run hold, as progress bars do: a rank that waits
for one gives the turn away. Those that another process holds are waited for with the turn.
"""

from __future__ import annotations

import _multiprocessing
from multiprocessing import util
from multiprocessing.synchronize import SemLock
from typing import Any

from simmesh import _core
from simmesh.torch.isolation import locks, methods
from simmesh.torch.isolation.patches import Patches

_acquire_of_python = _multiprocessing.SemLock.acquire
_release_of_python = _multiprocessing.SemLock.release


def install(patches: Patches) -> None:
    """Lets waits for locks of ``multiprocessing`` be the run's in ranks."""
    patches.at_end(_bind_methods)
    methods.replace(
        patches,
        _multiprocessing.SemLock,
        {"acquire": _acquire, "release": _release, "__enter__": _acquire, "__exit__": _leave},
    )
    _bind_methods()


def _bind_methods() -> None:
    """Lets the locks that exist call the methods of their class: each has kept them."""
    for each in list(util._afterfork_registry.values()):  # type: ignore[attr-defined]
        if isinstance(each, SemLock):
            each._make_methods()  # type: ignore[attr-defined]


def _acquire(lock: Any, block: bool = True, timeout: float | None = None) -> bool:
    seat = _core.seat()
    if seat is None or lock.maxvalue != 1:
        return bool(_acquire_of_python(lock, block, timeout))
    if _acquire_of_python(lock, False):
        return locks.note_holder(lock, seat)
    if not block:
        locks.looked_in_vain()
        return False
    if not locks.is_held(lock):
        return bool(_acquire_of_python(lock, True, timeout)) and locks.note_holder(lock, seat)
    return locks.wait(
        id(lock),
        lambda: bool(_acquire_of_python(lock, False)) and locks.note_holder(lock, seat),
        lambda: locks.describe(lock, "SemLock.acquire"),
        timeout,
    )


def _release(lock: Any) -> None:
    try:
        _release_of_python(lock)
    except AssertionError:
        # A wait in which the run ended didn't take its lock.
        if _core.seat() is None or not _core.has_ended():
            raise
        return
    if not lock._count():
        locks.released(lock)


def _leave(lock: Any, *error: Any) -> None:
    _release(lock)
