"""Trials that several processes make side by side."""

from __future__ import annotations

import os
import selectors
import struct
import sys
from typing import Callable

# A process tells the number of each trial that it has made, and whether it passed.
_RESULT = struct.Struct("<q?")


def first_that_fails(
    passes: Callable[[int], bool], count: int, jobs: int, fork: Callable[[], int] = os.fork
) -> int | None:
    """Returns the lowest of the numbers from 0 to ``count`` - 1 for which ``passes`` is False or
    raises; None if there is none.

    Processes are forked from this one by ``fork``, so what the trials change is gone afterwards. A
    number whose process ends early counts as one that fails: whoever asked makes that trial again.
    """
    jobs = min(jobs, count)
    sys.stdout.flush()
    sys.stderr.flush()
    workers = [_Worker(passes, range(first, count, jobs), fork) for first in range(jobs)]
    try:
        return _lowest(workers, count)
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that makes the trials of some numbers."""

    def __init__(
        self, passes: Callable[[int], bool], numbers: range, fork: Callable[[], int]
    ) -> None:
        self.next = numbers.start  # the trial of which nothing is known yet
        self._step = numbers.step
        self.pipe, write = os.pipe()
        self._process = fork()
        if self._process == 0:
            os.close(self.pipe)
            _work(passes, numbers, write)
        os.close(write)
        self._rest = b""

    def read(self) -> int | None:
        """Takes what the process has told. Returns the number of a trial that failed."""
        data = os.read(self.pipe, 4096)
        if not data:
            return self.next
        self._rest += data
        while len(self._rest) >= _RESULT.size:
            number, passed = _RESULT.unpack(self._rest[: _RESULT.size])
            self._rest = self._rest[_RESULT.size :]
            if not passed:
                return int(number)
            self.next = number + self._step
        return None

    def end(self) -> None:
        """Ends the process, which holds nothing that anybody needs."""
        os.close(self.pipe)
        os.kill(self._process, 9)
        os.waitpid(self._process, 0)


def _work(passes: Callable[[int], bool], numbers: range, write: int) -> None:
    """Makes the trials of a process, which ends with them and runs nothing else of its parent."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        for number in numbers:
            passed = passes(number)
            os.write(write, _RESULT.pack(number, passed))
            if not passed:
                break
    finally:
        os._exit(0)


def _lowest(workers: list[_Worker], count: int) -> int | None:
    """Waits until no trial that is still to be made could be lower than the lowest failing one."""
    lowest: int | None = None
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                worker = key.data
                failed = worker.read()
                if failed is not None and failed < count:
                    lowest = failed if lowest is None else min(lowest, failed)
                bound = count if lowest is None else lowest
                if failed is not None or worker.next >= bound:
                    selector.unregister(worker.pipe)
            if lowest is not None:
                for key in list(selector.get_map().values()):
                    if key.data.next >= lowest:
                        selector.unregister(key.fileobj)
    return lowest
