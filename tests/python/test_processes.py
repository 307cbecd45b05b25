"""Processes that are forked for ranks."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

import pytest

from simmesh import _core


@pytest.mark.parametrize("without_handlers", [False, True])
def test_a_fork_returns_in_both_processes(without_handlers: bool) -> None:
    """Fails if the child doesn't know that it is one, or Python can't run there."""
    reading, writing = os.pipe()
    pid = _core.fork_process(without_handlers)
    if pid == 0:
        os.write(writing, f"{os.getppid()} {len(sys._current_frames())}".encode())
        os._exit(3)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert os.read(reading, 100) == f"{os.getpid()} 1".encode()
    os.close(reading)


def test_the_child_ends_with_the_thread_that_forked() -> None:
    """Fails if a child goes on when nobody is left to end it."""
    children = []

    def fork() -> None:
        pid = _core.fork_process(False)
        if pid == 0:
            while True:
                signal.pause()
        children.append(pid)

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    handle = os.pidfd_open(children[0])
    assert select.select([handle], [], [], 60)[0]
    os.close(handle)
    _, status = os.waitpid(children[0], 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
