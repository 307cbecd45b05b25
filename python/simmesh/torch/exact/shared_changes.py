"""Changes of the process that last while any thread is in the mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class WhileAnyThread:
    """Calls ``begin`` when a thread comes, and ``end`` when the last one leaves. ``begin`` is told
    whether the thread is the first one. Both are called by one thread at a time.
    """

    def __init__(self, begin: Callable[[bool], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end
        self._lock = threading.Lock()
        self._threads = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._begin(self._threads == 0)
            self._threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if self._threads == 0:
                    self._end()
