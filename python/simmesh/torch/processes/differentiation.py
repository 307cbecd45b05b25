"""Forks whose children may make backward passes."""

from __future__ import annotations

import os

import torch

from simmesh import _core

# True once this process has made a backward pass: its children need a fork that PyTorch doesn't
# see.
_has_differentiated = False


def has_differentiated() -> bool:
    """True if this process is known to have made a backward pass."""
    return _has_differentiated


def note_backward_pass() -> None:
    """Keeps in mind that this process has made a backward pass."""
    global _has_differentiated
    _has_differentiated = True


def settle_thread_pool(threads: int) -> None:
    """Lets PyTorch make its pool of threads anew in a child. The threads that the first backward
    pass starts would do so at the same time, and some would find no pool.
    """
    torch.set_num_threads(threads)


def can_differentiate() -> bool:
    """False in the child of a process that has made a backward pass, which PyTorch forbids."""
    settle_thread_pool(1)
    try:
        with torch.enable_grad(), torch.inference_mode(False):
            torch.ones((), requires_grad=True).backward()
    except RuntimeError:
        return False
    return True


def fork_for_training() -> int:
    """Forks as ``os.fork`` does. The child may make backward passes, whatever this process has made
    before, and is killed when the thread that calls this ends. Raises OSError.
    """
    if not _has_differentiated and not _trial_child_can_differentiate():
        note_backward_pass()
    child = int(_core.fork_process(_has_differentiated))
    if child == 0:
        settle_thread_pool(torch.get_num_threads())
    return child


def _trial_child_can_differentiate() -> bool:
    pid = _core.fork_process(False)
    if pid == 0:
        os._exit(0 if can_differentiate() else 1)
    return os.waitpid(pid, 0)[1] == 0
