"""State of torch that belongs to a thread. Threads of ranks are used again, so it is put back."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import torch
from torch._C._distributed_c10d import (
    _unregister_all_process_groups,
    get_debug_level,
    set_debug_level,
)

from simmesh.torch.isolation import sharding_caches


@contextmanager
def rank_thread() -> Iterator[None]:
    """Runs a rank's program: gradients on, one thread for its operators, and its process groups
    forgotten at the end.

    Operators split their sums by the number of threads, so one thread is what gives the same bits
    everywhere.
    """
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autograd.set_multithreading_enabled(False),
    ):
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)
        sharding_caches.begin_run()
        try:
            yield
        finally:
            _unregister_all_process_groups()
            torch.set_default_device(None)


@contextmanager
def isolated_groups() -> Iterator[None]:
    """Lets torch's C++ registry of process groups be one for each thread, and puts the host's
    threads back.
    """
    threads = torch.get_num_threads()
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    try:
        yield
    finally:
        torch._C._distributed_c10d._set_thread_isolation_mode(False)
        torch.set_num_threads(threads)


class Switches:
    """The dtype of new tensors, and how much torch.distributed checks and logs."""

    def __init__(self) -> None:
        self._loaded = (torch.get_default_dtype(), get_debug_level())

    def fresh(self, rank: int) -> tuple[torch.dtype, Any]:
        return self._loaded

    def save(self) -> tuple[torch.dtype, Any]:
        current = (torch.get_default_dtype(), get_debug_level())
        if current != self._loaded:
            self._loaded = current
        return self._loaded

    def load(self, state: tuple[torch.dtype, Any]) -> None:
        if state is self._loaded:
            return
        torch.set_default_dtype(state[0])
        set_debug_level(state[1])
        self._loaded = state
