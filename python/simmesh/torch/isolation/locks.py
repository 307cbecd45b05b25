"""Locks and queues of Python between the threads of a run: a wait for one gives the turn away.

Conditions, events, semaphores, barriers, ``queue.Queue`` and futures are made of them, also those
that exist before the run. When nobody can run, the report says who waits for whom.
"""

from __future__ import annotations

import _imp
import _queue
import _thread
import contextlib
import queue
import sys
import threading
from collections import deque
from typing import Any, Callable

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.internal_files import called_function
from simmesh.torch.isolation import methods, outside
from simmesh.torch.isolation.patches import Patches

_Lock = _thread.LockType
_RLock = _thread.RLock
_SimpleQueue = _queue.SimpleQueue

# Looks in vain after which all others run.
_LOOKS = 50


class _Run:
    """The seats that wait for each object, by its id, and who holds each lock since which line."""

    def __init__(self) -> None:
        self.waiting: dict[int, deque[int]] = {}
        self.holders: dict[int, tuple[int, str]] = {}
        self.looks = 0


_run = _Run()


def install(patches: Patches) -> None:
    """Lets waits for locks and for ``queue.SimpleQueue`` be the run's in ranks."""
    global _run
    _run = _Run()
    for kind in (_Lock, _RLock):
        methods.replace(patches, kind, _LOCK_METHODS[kind])
    methods.replace(patches, _SimpleQueue, {"get": _get, "put": _put, "put_nowait": _put_nowait})
    patches.around_in_ranks(threading.Condition, "_is_owned", _is_owned)
    patches.around_in_ranks(threading.Event, "is_set", _is_set)


def let_others_run() -> None:
    """A point of the schedule, if this thread's rank has other threads. A finalizer may run while
    Python holds its lock for imports, without which no other thread could fork.
    """
    if rank_state.has_threads() and not _imp.lock_held():
        _core.yield_now()


def looked_in_vain() -> None:
    """Lets all others run now and then, since a program that looks again and again may be the one
    that every schedule by priorities prefers.
    """
    if rank_state.has_threads():
        _run.looks += 1
        if _run.looks % _LOOKS == 0:
            _core.sleep(0)


def wait(
    key: int, attempt: Callable[[], bool], describe: Callable[[], tuple[str, str, list[int]]],
    timeout: float | None,
) -> bool:  # fmt: skip
    """Waits until an attempt succeeds. ``describe`` gives the function that waits, for what, and
    the seats that could end the wait. Returns False where the timeout came first.
    """
    seat = _core.seat()
    assert seat is not None
    end = None if timeout is None else _core.virtual_time() + timeout
    while True:
        left = None if end is None else max(0.0, end - _core.virtual_time())
        _run.waiting.setdefault(key, deque()).append(seat)
        try:
            woken = _core.park(*describe(), timeout=left)
        finally:
            _leave(key, seat)
        if attempt():
            return True
        if not woken:
            return False


def _leave(key: int, seat: int) -> None:
    waiting = _run.waiting.get(key, deque())
    if seat in waiting:
        waiting.remove(seat)
    if not waiting:
        _run.waiting.pop(key, None)


def wake(key: int) -> None:
    """Wakes the seat that waits longest for an object."""
    waiting = _run.waiting.get(key)
    if waiting and _core.seat() is not None:
        while waiting and not _core.unpark(waiting.popleft()):
            pass


def describe(lock: Any, name: str) -> tuple[str, str, list[int]]:
    """The function that waits for a lock, for what, and the seats that could release it."""
    function = called_function(sys._getframe(1), name)
    holder, line = _run.holders.get(id(lock), (None, ""))
    others = [seat for seat in rank_state.seats_of_rank() if seat != _core.seat()]
    # Conditions hold the lock for which they wait.
    if holder is None or holder == _core.seat():
        is_own = holder is not None and function.endswith(("acquire", "__enter__"))
        of = "that this thread holds already" if is_own else "for another thread of its rank"
        return function, of, others
    who = rank_state.name_of_seat(holder)
    since = f" since {line}" if line else ""
    return function, f"for what {who}, holds{since}", [holder]


def note_holder(lock: Any, seat: int) -> bool:
    """Notes that a seat holds a lock from now on. Returns True."""
    _run.holders[id(lock)] = (seat, _core.call_site() if rank_state.has_threads() else "")
    return True


def _acquiring(kind: Any) -> Callable[..., bool]:
    of_python = kind.acquire
    name = f"{kind.__name__}.acquire"

    def acquire(lock: Any, blocking: bool = True, timeout: float = -1) -> bool:
        seat = _core.seat()
        if seat is None or (timeout != -1 and (not blocking or timeout < 0)):
            return bool(of_python(lock, blocking, timeout))
        # Nothing can come between a lock and the same one again.
        if kind is _RLock and lock._is_owned():
            return bool(of_python(lock))
        let_others_run()
        if of_python(lock, False):
            return note_holder(lock, seat)
        if not blocking:
            looked_in_vain()
            return False
        limit = None if timeout == -1 else float(timeout)
        state = rank_state.of_rank()
        is_outside = id(lock) not in _run.holders and state.may_be_held_outside()
        if is_outside or state.foreign_threads():
            return _acquire_from_foreign(of_python, lock, limit)
        # The last one of these threads may have released it just now.
        if of_python(lock, False):
            return note_holder(lock, seat)
        return wait(
            id(lock),
            lambda: bool(of_python(lock, False)) and note_holder(lock, seat),
            lambda: describe(lock, name),
            limit,
        )

    return acquire


def _acquire_from_foreign(of_python: Any, lock: Any, timeout: float | None) -> bool:
    """Waits where a thread that the schedule doesn't know may release the lock: with the turn, as
    for a process.
    """
    if rank_state.has_threads():
        return bool(outside.wait(lambda s: of_python(lock, True, -1 if s is None else s), timeout))
    if timeout is None:
        return bool(of_python(lock))
    if of_python(lock, True, timeout):
        return True
    _core.sleep(timeout)
    return bool(of_python(lock, False))


def _releasing(kind: Any) -> Callable[..., None]:
    of_python = kind.release

    def release(lock: Any) -> None:
        try:
            of_python(lock)
        except RuntimeError:
            # A wait in which the run ended didn't take its lock again.
            if _core.seat() is None or not _core.has_ended():
                raise
            return
        released(lock)

    return release


def held_by(seat: int) -> str | None:
    """The line since which a seat holds a lock, empty where it isn't known; None for none."""
    return next((line for holder, line in _run.holders.values() if holder == seat), None)


def is_held(lock: Any) -> bool:
    """True if a seat of the run holds a lock."""
    return id(lock) in _run.holders


def released(lock: Any) -> None:
    """Notes that nobody holds a lock, and wakes who waits for it."""
    _run.holders.pop(id(lock), None)
    if _run.waiting:
        wake(id(lock))


def _methods(kind: Any) -> dict[str, Callable[..., Any]]:
    acquire, release = _acquiring(kind), _releasing(kind)

    def leave(lock: Any, *error: Any) -> None:
        release(lock)

    found = {"acquire": acquire, "release": release, "__enter__": acquire, "__exit__": leave}
    return {name: found[name] for name in found if name in vars(kind)}


def _recursive_methods() -> dict[str, Callable[..., Any]]:
    found = _methods(_RLock)
    acquire, save, restore = found["acquire"], _RLock._release_save, _RLock._acquire_restore  # type: ignore[attr-defined]
    release = _RLock.release

    def release_save(lock: Any) -> Any:
        state = save(lock)
        released(lock)
        return state

    def acquire_restore(lock: Any, state: Any) -> None:
        if _core.seat() is not None:
            acquire(lock)
            release(lock)
        restore(lock, state)
        if (seat := _core.seat()) is not None:
            note_holder(lock, seat)

    return {**found, "_release_save": release_save, "_acquire_restore": acquire_restore}


_LOCK_METHODS = {_Lock: _methods(_Lock), _RLock: _recursive_methods()}
_plain_acquire, _plain_release = _Lock.acquire, _Lock.release
_get_of_python, _put_of_python = _SimpleQueue.get, _SimpleQueue.put


def _get(items: Any, block: bool = True, timeout: float | None = None) -> Any:
    if _core.seat() is None or (timeout is not None and timeout < 0):
        return _get_of_python(items, block, timeout)
    let_others_run()
    found: list[Any] = []

    def attempt() -> bool:
        try:
            found.append(_get_of_python(items, False))
        except queue.Empty:
            return False
        return True

    if attempt():
        return found[0]
    if not block:
        looked_in_vain()
        raise queue.Empty
    if rank_state.of_rank().foreign_threads():
        return _get_from_foreign(items, timeout)
    others = [seat for seat in rank_state.seats_of_rank() if seat != _core.seat()]
    name = called_function(sys._getframe(), "SimpleQueue.get")
    if not wait(
        id(items), attempt, lambda: (name, "from another thread of its rank", others), timeout
    ):
        raise queue.Empty
    return found[0]


def _get_from_foreign(items: Any, timeout: float | None) -> Any:
    if not rank_state.has_threads():
        return _get_of_python(items, True, timeout)
    found: list[Any] = []

    def look(seconds: float | None) -> bool:
        with contextlib.suppress(queue.Empty):
            found.append(_get_of_python(items, seconds != 0, seconds))
        return bool(found)

    if not outside.wait(look, timeout):
        raise queue.Empty
    return found[0]


def _put(items: Any, item: Any, block: bool = True, timeout: float | None = None) -> None:
    _put_of_python(items, item)
    if _run.waiting:
        wake(id(items))


def _put_nowait(items: Any, item: Any) -> None:
    _put(items, item)


def _is_owned(of_python: Any, condition: Any) -> bool:
    lock = condition._lock
    if type(lock) is not _Lock:
        return bool(of_python(condition))
    if _plain_acquire(lock, False):
        _plain_release(lock)
        return False
    return True


def _is_set(of_python: Any, event: Any) -> bool:
    let_others_run()
    is_set = bool(of_python(event))
    if not is_set:
        looked_in_vain()
    return is_set
