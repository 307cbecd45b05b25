"""The process of one rank, as this process sees it: how to wait for it, look at it and end it."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Any

from simmesh.torch.processes.channel import Channel, ChannelClosed

#: Lets a process write its Python calls into its file.
SHOW_CALLS = signal.SIGRTMIN + 5
# The function in which a process begins.
_OUTERMOST = " in run_program"
# Seconds between looks at whether the run was interrupted.
_LOOK = 0.25
# Seconds for which a process may take to write its calls, and to end.
_PATIENCE = 5.0


class RankProcessEnded(RuntimeError):
    """Raised for a rank whose process ended before its program, or that had to be ended."""


class RankProcess:
    """One forked process, its channel, and the file that takes its Python calls."""

    def __init__(
        self, rank: int, pid: int, channel: Channel, memory: mmap.mmap, calls: int
    ) -> None:
        self.rank = rank
        self.pid = pid
        self.channel = channel
        self.last_request = "it started"
        self._memory = memory
        self._calls = calls
        self._handle = os.pidfd_open(pid)
        self._ends = select.poll()
        self._ends.register(self._handle, select.POLLIN)
        self._status: int | None = None

    def receive(self, channel: Channel, timeout: float) -> Any:
        """Waits for the next message on one of the process's channels. Raises RankProcessEnded
        where the process ends, and where ``timeout`` seconds of wall time pass, unless 0.
        """
        end = time.monotonic() + timeout if timeout > 0 else None
        while not channel.wait(_LOOK):
            if self._has_ended():
                break  # another process may hold the socket
            if end is not None and time.monotonic() > end:
                raise self._given_up(timeout)
        try:
            return channel.receive()
        except ChannelClosed:
            raise self._ended() from None

    def end(self) -> None:
        """Ends the process if it hasn't ended, and frees what belongs to it."""
        if self._handle < 0:
            return
        self._await(_PATIENCE)
        self.kill()
        self.channel.close()
        os.close(self._handle)
        os.close(self._calls)
        self._handle = -1
        with contextlib.suppress(BufferError):  # an array of an operation is left
            self._memory.close()

    def kill(self) -> None:
        """Ends the process now."""
        if not self._has_ended():
            os.kill(self.pid, signal.SIGKILL)
            self._await(None)

    def _has_ended(self) -> bool:
        return self._await(0)

    def _await(self, seconds: float | None) -> bool:
        if self._status is None:
            self._ends.poll(None if seconds is None else seconds * 1000)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = status
        return self._status is not None

    def _ended(self) -> RankProcessEnded:
        self._await(_PATIENCE)
        self.kill()
        assert self._status is not None
        return RankProcessEnded(
            f"[torch/processes] rank {self.rank}: expected a process that ends with its program, "
            f"got one that {_end_in_words(self._status)} after {self.last_request}{self._stack()}"
        )

    def _given_up(self, timeout: float) -> RankProcessEnded:
        os.truncate(self._calls, 0)
        os.kill(self.pid, SHOW_CALLS)
        end = time.monotonic() + _PATIENCE
        size = -1
        # The calls come in several writes.
        while time.monotonic() < end and (not size or size != os.fstat(self._calls).st_size):
            size = os.fstat(self._calls).st_size
            time.sleep(0.05)
        stack = self._stack()
        self.kill()
        return RankProcessEnded(
            f"[torch/processes] rank {self.rank} has not given up its turn for {timeout:g} s of "
            f"wall time after {self.last_request}; its process was ended{stack}"
        )

    def _stack(self) -> str:
        with open(f"/proc/self/fd/{self._calls}", "rb") as file:
            text = file.read().decode(errors="replace")
        text = "\n".join(_calls_of_rank(text.splitlines()))
        return f"; its Python calls, the last one first:\n{text}" if text else ""


def _calls_of_rank(lines: Iterable[str]) -> Iterator[str]:
    """The lines without those of the parent's calls that led to the fork."""
    is_ranks = True
    for line in lines:
        if "hread 0x" in line:
            is_ranks = True
        elif line.endswith(_OUTERMOST):
            is_ranks = False
        if is_ranks and line:
            yield line


def _end_in_words(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"ended with status {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    name = signal.Signals(number).name
    note = ", as the system sends it where memory runs out," if number == signal.SIGKILL else ""
    return f"was ended by {name}{note}"
