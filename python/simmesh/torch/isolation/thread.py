"""State of torch that belongs to a thread. Threads of ranks are used again, so it is restored."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
from torch._C._distributed_c10d import (
    DebugLevel,
    _unregister_all_process_groups,
    get_debug_level,
    set_debug_level,
)

from simmesh.torch.isolation import sharding_caches


@contextmanager
def rank_thread() -> Iterator[None]:
    """Runs a rank's program: gradients on, one thread for its operators, and its process groups
    forgotten at the end.

    Operators split their sums by the number of threads, so only one thread gives the same bits
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
            _forget_thread()


def _forget_thread() -> None:
    """Removes what ``threading`` made for a thread that it hasn't started."""
    if isinstance(threading.current_thread(), threading._DummyThread):
        threading._active.pop(threading.get_ident(), None)  # type: ignore[attr-defined]


@contextmanager
def started_thread() -> Iterator[None]:
    """Runs a thread that a rank started, whose state of torch is fresh."""
    with torch.autograd.set_multithreading_enabled(False):
        torch.set_num_threads(1)
        sharding_caches.begin_run()
        try:
            yield
        finally:
            if _each_has_groups:
                _unregister_all_process_groups()


# False in a process that is one rank.
_each_has_groups = True


def share_groups() -> None:
    """Lets the threads of this process, which is one rank, have one C++ registry of groups, without
    those of the process from which it was forked.
    """
    global _each_has_groups
    _each_has_groups = False
    torch._C._distributed_c10d._set_thread_isolation_mode(False)
    _unregister_all_process_groups()


@contextmanager
def isolated_groups() -> Iterator[None]:
    """Gives each thread a C++ registry of process groups of its own, and restores that of the
    host's threads.
    """
    threads = torch.get_num_threads()
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    try:
        yield
    finally:
        torch._C._distributed_c10d._set_thread_isolation_mode(False)
        torch.set_num_threads(threads)


def _anomalies() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _determinism() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


# The functions that get and set each switch.
_SWITCHES: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    # Numbers are compared ten times as fast.
    (lambda: get_debug_level().value, lambda number: set_debug_level(DebugLevel(number))),
    (_anomalies, lambda state: torch.set_anomaly_enabled(*state)),
    (_determinism, lambda state: torch.use_deterministic_algorithms(state[0], warn_only=state[1])),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (sys.getrecursionlimit, sys.setrecursionlimit),
)


class Switches:
    """The dtype of new tensors, how much torch.distributed checks and logs, whether torch looks for
    anomalies and prefers deterministic algorithms, how exactly it multiplies matrices, and how
    deep Python's calls may be.
    """

    def __init__(self) -> None:
        self._loaded = self._read()

    def fresh(self, rank: int) -> list[Any]:
        return self._loaded

    def save(self) -> list[Any]:
        current = self._read()
        if current != self._loaded:
            self._loaded = current
        return self._loaded

    def load(self, state: list[Any]) -> None:
        if state is self._loaded:
            return
        for (_, change), new, old in zip(_SWITCHES, state, self._loaded):
            if new != old:
                change(new)
        self._loaded = state

    @staticmethod
    def _read() -> list[Any]:
        return [get() for get, _ in _SWITCHES]
