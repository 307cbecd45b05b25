"""Locks of ``multiprocessing`` that were there before the ranks' processes, which share them: a
rank that waits for one gives the turn away, and the schedule says who takes one first.
"""

from __future__ import annotations

import _multiprocessing
from collections.abc import Mapping
from multiprocessing import util
from multiprocessing.synchronize import RECURSIVE_MUTEX, SemLock  # type: ignore[attr-defined]
from typing import Any, Callable

from simmesh import _core
from simmesh.shared import number_of
from simmesh.torch import rank_state
from simmesh.torch.isolation import locks, methods
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.processes.rank_core import RankCore

# The locks are in it since a fork changes them, by keys that begin with numbers in their order.
_after_fork: Mapping[tuple[int, ...], Any] = util._afterfork_registry  # type: ignore[attr-defined]

_acquire_of_python = _multiprocessing.SemLock.acquire
_release_of_python = _multiprocessing.SemLock.release


class SharedLocks:
    """The seats that hold the locks of a run's processes, by the locks' numbers. Each call is a
    point of the schedule.
    """

    def __init__(self) -> None:
        self._holders: dict[int, int] = {}

    def acquire(self, number: int, timeout: float | None) -> bool:
        """Takes a lock, and waits for it if need be; returns False if ``timeout`` came first."""
        seat = _core.seat()
        assert seat is not None
        _core.touch(number_of(f"lock {number} of multiprocessing"))

        def attempt() -> bool:
            is_free = number not in self._holders
            if is_free:
                self._holders[number] = seat
            return is_free

        if attempt():
            return True
        if timeout is not None and timeout <= 0:
            return False
        return locks.wait(_key(number), attempt, lambda: self._describe(number), timeout)

    def release(self, number: int) -> None:
        """Lets the next seat take a lock."""
        _core.touch(number_of(f"lock {number} of multiprocessing"))
        self._holders.pop(number, None)
        locks.wake(_key(number))

    def _describe(self, number: int) -> tuple[str, str, list[int]]:
        holder = self._holders[number]
        if holder == _core.seat():
            return "SemLock.acquire", "that this thread holds already", []
        return "SemLock.acquire", f"for what {rank_state.name_of_seat(holder)}, holds", [holder]


def _key(number: int) -> int:
    """The key of a lock for those that wait, which is no object's id."""
    return -1 - number


def install(core: RankCore, patches: Patches) -> None:
    """Lets waits of this rank for the locks that processes share be the run's."""
    # All processes of a run have the same ones, in the same order.
    shared: list[Any] = [
        each for _, each in sorted(_after_fork.items(), key=_order) if isinstance(each, SemLock)
    ]
    numbers = {
        id(each._semlock): number for number, each in enumerate(shared)
        if each._semlock.maxvalue == 1
    }  # fmt: skip

    def acquire(lock: Any, block: bool = True, timeout: float | None = None) -> bool:
        number = numbers.get(id(lock))
        is_again = lock.kind == RECURSIVE_MUTEX and lock._is_mine()
        if number is None or is_again or _core.seat() is None:
            return bool(_acquire_of_python(lock, block, timeout))
        if not core.ask("lock", "acquire", number, timeout if block else 0.0):
            return False
        # A process that is no rank may hold it.
        if _acquire_of_python(lock, block, timeout):
            return True
        core.ask("lock", "release", number)
        return False

    def release(lock: Any) -> None:
        _release_of_python(lock)
        number = numbers.get(id(lock))
        is_held = lock.kind == RECURSIVE_MUTEX and lock._count() > 0
        if number is not None and not is_held and _core.seat() is not None:
            core.ask("lock", "release", number)

    def leave(lock: Any, *error: Any) -> None:
        release(lock)

    functions: dict[str, Callable[..., Any]] = {
        "acquire": acquire, "release": release, "__enter__": acquire, "__exit__": leave,
    }  # fmt: skip
    methods.replace(patches, _multiprocessing.SemLock, functions)
    for each in shared:
        each._make_methods()


def _order(entry: tuple[tuple[int, ...], Any]) -> int:
    return entry[0][0]
