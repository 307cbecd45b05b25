"""The threads that ranks start: each has a seat of its own, and runs when the schedule says so.

A thread belongs to its rank: it has the rank's groups, variables and random numbers. As in a
process of its own, a rank's program ends once its threads have ended, but for daemons, which end
with it.
"""

from __future__ import annotations

import concurrent.futures.thread as executors
import contextlib
import itertools
import multiprocessing.pool
import os
import queue
import sys
import threading
from typing import Any

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation import locks
from simmesh.torch.isolation.own_names import OwnNames
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.thread import started_thread

# Modules whose threads serve processes: they wait outside of simmesh and call nothing of a program.
_SERVING = ("multiprocessing", "concurrent.futures.process", "asyncio.unix_events")

# Held while Python prepares a fork: it takes locks of its modules then, some of them with the turn.
_fork_lock = threading.Lock()

# The attribute of a ``threading.Thread`` that a rank started.
_OF_RANK = "_simmesh_thread"


class RankThread:
    """A thread that a rank started."""

    def __init__(self, thread: threading.Thread) -> None:
        self.thread = thread
        self.name = thread.name
        self.seat = -1
        self.has_ended = False
        self.joining: list[int] = []

    def run(self) -> None:
        """Calls the thread's own code, on the thread."""
        state = rank_state.of_rank()
        try:
            with started_thread(), state.operators():
                self.thread._bootstrap()  # type: ignore[attr-defined]
        finally:
            threading._active.pop(threading.get_ident(), None)  # type: ignore[attr-defined]
            self._release()
            self.has_ended = True
            state.threads.remove(self)
            for seat in self.joining:
                _core.unpark(seat)

    # Python releases the lock of a thread when its C code ends. A thread that joins may come before
    # that, if this one gives its turn away as one of a process.
    def _release(self) -> None:
        lock = getattr(self.thread, "_tstate_lock", None)
        if lock is not None and lock.locked():
            lock.release()

    def wait(self, timeout: float | None) -> None:
        """Waits until the thread has ended, or for as many seconds."""
        seat = _core.seat()
        assert seat is not None
        end = None if timeout is None else _core.virtual_time() + max(0.0, timeout)
        while not self.has_ended:
            left = None if end is None else end - _core.virtual_time()
            if left is not None and left <= 0:
                return
            self.joining.append(seat)
            try:
                _core.park("Thread.join", f"of {self.name}", [self.seat], left)
            finally:
                self.joining.remove(seat)


def install(patches: Patches) -> None:
    """Lets ranks start and join threads of the run."""
    patches.around_in_ranks(threading.Thread, "__init__", _initialize)
    patches.around_in_ranks(threading.Thread, "start", _start)
    patches.around_in_ranks(threading.Thread, "join", _join)
    patches.around_in_ranks(threading.Thread, "is_alive", _is_alive)
    patches.around_in_ranks(os, "fork", _fork)
    patches.around_in_ranks(executors._WorkItem, "__init__", _note_place)
    patches.around_in_ranks(executors._WorkItem, "run", _work_for_place)


def add_names(own: OwnNames) -> None:
    """Adds what ``threading`` and the executors keep for a process."""
    own.add(vars(threading), ["_counter"], lambda value: itertools.count(1).__next__)
    own.add(vars(threading), ["excepthook"], lambda value: value)
    own.add(vars(executors), ["_shutdown"], lambda value: False)


def end_of_program() -> None:
    """Waits for the threads of this rank, as a process does that ends, and ends its daemons."""
    state = rank_state.of_rank()
    if not state.threads:
        return
    # Only now, since threads of the host that use executors see it, too.
    executors._shutdown = True  # type: ignore[attr-defined]
    for thread, items in list(executors._threads_queues.items()):  # type: ignore[attr-defined]
        if _of_rank(thread) in state.threads:
            items.put(None)
    for each in list(state.threads):
        if isinstance(each, RankThread) and not each.thread.daemon:
            each.wait(None)
    if state.threads:
        _core.end_threads()


# Reports name the line that gave the work to an executor.
def _note_place(initialize: Any, item: Any, *arguments: Any, **options: Any) -> None:
    item._simmesh_place = _core.call_place()
    initialize(item, *arguments, **options)


def _work_for_place(run: Any, item: Any, *arguments: Any, **options: Any) -> Any:
    if (place := getattr(item, "_simmesh_place", None)) is not None:
        _core.set_place_of_thread(*place)
    return run(item, *arguments, **options)


def _fork(fork: Any) -> int:
    with _fork_lock:
        return int(fork())


def _of_rank(thread: threading.Thread) -> RankThread | None:
    return vars(thread).get(_OF_RANK)


# The thread of a rank's body is a daemon to Python, since nobody started it there.
def _initialize(initialize: Any, thread: threading.Thread, *arguments: Any, **options: Any) -> None:
    if options.get("daemon") is None and _core.seat() == _core.rank():
        options["daemon"] = False
    initialize(thread, *arguments, **options)


def _start(start: Any, thread: threading.Thread) -> None:
    if _core.seat() is None or not thread._initialized:  # type: ignore[attr-defined]
        start(thread)
        return
    if thread._started.is_set() or _of_rank(thread) is not None:  # type: ignore[attr-defined]
        raise RuntimeError("threads can only be started once")
    if _serves_processes(thread):
        state = rank_state.of_rank()
        state.foreign.append(thread)
        state.shared.foreign.append(thread)
        start(thread)
        return
    new = RankThread(thread)
    _let_end(thread)
    limbo: Any = threading._limbo  # type: ignore[attr-defined]
    limbo[thread] = thread
    vars(thread)[_OF_RANK] = new
    state = rank_state.of_rank()
    state.has_started_threads = True
    threads = state.threads
    threads.append(new)
    try:
        new.seat = _core.start_thread(thread.name, new.run)
    except BaseException:
        threads.remove(new)
        limbo.pop(thread, None)
        del vars(thread)[_OF_RANK]
        raise
    thread._started.wait()  # type: ignore[attr-defined]


# A thread that ends with its rank has no exception to tell.
def _let_end(thread: Any) -> None:
    tell = thread._invoke_excepthook

    def tell_others(of: Any) -> None:
        if not isinstance(sys.exc_info()[1], _core.RankEnded):
            tell(of)

    thread._invoke_excepthook = tell_others


def _serves_processes(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    modules = (type(thread).__module__, getattr(target, "__module__", None) or "")
    if not any(module.startswith(_SERVING) for module in modules):
        return False
    # Those of a pool of threads run on threads, with queues between them.
    arguments = getattr(thread, "_args", ())
    has_threads = any(
        isinstance(each, list) and each and isinstance(each[0], threading.Thread)
        for each in arguments
    )
    is_result_handler = target is multiprocessing.pool.Pool._handle_results  # type: ignore[attr-defined]
    has_queue = any(isinstance(each, queue.SimpleQueue) for each in arguments)
    is_worker = target is multiprocessing.pool.worker  # type: ignore[attr-defined]
    return not (has_threads or is_worker or (is_result_handler and has_queue))


def _join(join: Any, thread: threading.Thread, timeout: float | None = None) -> None:
    of_rank = _of_rank(thread)
    if of_rank is None or _core.seat() is None:
        join(thread, timeout)
        return
    if of_rank.seat == _core.seat():
        raise RuntimeError("cannot join current thread")
    of_rank.wait(timeout)
    if of_rank.has_ended and hasattr(thread, "_tstate_lock"):
        join(thread, timeout)


def _is_alive(is_alive: Any, thread: threading.Thread) -> bool:
    of_rank = _of_rank(thread)
    if of_rank is None:
        return bool(is_alive(thread))
    if not of_rank.has_ended and _core.seat() is not None:
        with contextlib.suppress(_core.RankEnded):
            _core.yield_now()
            locks.looked_in_vain()
    return not of_rank.has_ended
