"""A value that ranks share outside of any collective: simmesh.Shared."""

from __future__ import annotations

import copy
import functools
import hashlib
from typing import Callable, Generic, TypeVar

from simmesh import _core

Value = TypeVar("Value")


@functools.lru_cache(maxsize=4096)
def number_of(name: str) -> int:
    """Returns the number of what ranks share under a name, as ``_core.touch`` takes it."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


class Shared(Generic[Value]):
    """A value that ranks share, for tests of programs that do and for simulated services. Real
    ranks can't share one.

    Each use is a point of the schedule, and an exploration tries the uses in every order. Every run
    begins with a copy of the first value::

        counter = simmesh.Shared("counter", 0)


        def body(rank: int) -> None:
            counter.update(lambda count: count + 1)
    """

    def __init__(self, name: str, value: Value) -> None:
        """Two shared values of one run need different names."""
        self.name = name
        self._first = value
        self._run: int | None = None
        self._now = value
        self._object = number_of(f"Shared {name}")

    def get(self) -> Value:
        """Returns the value. Raises RuntimeError outside of ranks, as ``set`` and ``update`` do."""
        self._use()
        return self._now

    def set(self, value: Value) -> None:
        """Replaces the value."""
        self._use()
        self._now = value

    def update(self, function: Callable[[Value], Value]) -> Value:
        """Replaces the value by what the function makes of it, in one use, and returns it."""
        self._use()
        self._now = function(self._now)
        return self._now

    def _use(self) -> None:
        _core.touch(self._object)
        number = _core.run_number()
        if number != self._run:
            self._run = number
            self._now = copy.deepcopy(self._first)
