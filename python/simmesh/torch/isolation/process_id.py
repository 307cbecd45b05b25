"""The process ids of ranks, which programs use to tell their files apart, and to ask the system."""

from __future__ import annotations

import multiprocessing.process
import os
import sys
from multiprocessing import util
from typing import Any

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

# The process in which the run is, and the ids that its ranks have asked for.
_host = 0
_ids: set[int] = set()


def install(patches: Patches) -> None:
    """Gives each rank a process id of its own, and the host the processes that ranks leave.

    The id is that of the rank's thread. Linux knows it as it knows those of processes: there is a
    folder in ``/proc``, whose memory and times are those of the host, and ``psutil`` finds it. A
    rank has the same id in all runs of as many ranks.
    """
    patches.replace(sys.modules[__name__], "_host", os.getpid())
    patches.around_in_ranks(os, "getpid", _process_id)
    patches.around_in_ranks(os, "kill", _kill)
    patches.around_in_ranks(util.Finalize, "__call__", _finalize)
    patches.at_end(_take_over_children)


def _process_id(getpid: Any) -> int:
    process = int(getpid())
    if process != _host:
        return process  # one that a rank forked
    own = rank_state.of_rank().process_id
    _ids.add(own)
    return own


# A signal to a thread's id would reach the whole process.
def _kill(kill: Any, process: int, signal: int) -> None:
    if process not in _ids:
        kill(process, signal)
    elif signal != 0:
        raise RuntimeError(
            f"[torch/process_id] rank {rank_state.of_rank().rank}: expected no signal to a rank, "
            f"which is a thread, got signal {int(signal)} to process {process}"
        )


# multiprocessing keeps the host's getpid, and does nothing for objects of other processes.
def _finalize(call: Any, finalizer: Any, wr: Any = None, **options: Any) -> Any:
    return call(finalizer, wr, **{"getpid": os.getpid, **options})


# The seconds for which a daemon may take to end.
_PATIENCE = 5


def _take_over_children() -> None:
    """Does what ``multiprocessing`` does when a process ends: daemons end with it. The host waits
    for the others when it ends itself, and may join them, as their parent.
    """
    children: set[Any] = multiprocessing.process._children  # type: ignore[attr-defined]
    for child in list(children):
        if child._parent_pid in _ids:
            child._parent_pid = os.getpid()
            if child.daemon:
                child.kill()  # a child of a rank's thread has other signals blocked
                child.join(_PATIENCE)
    _ids.clear()
