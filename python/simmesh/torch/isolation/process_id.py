"""The process ids of ranks, which programs use to tell their files apart."""

from __future__ import annotations

import multiprocessing.process
import os
from typing import Any

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

# Linux gives no process an id that is greater, so that a signal to a rank reaches nobody.
_GREATEST = 2**22


def install(patches: Patches) -> None:
    """Gives each rank a process id of its own, and the host the processes that ranks leave."""
    patches.in_ranks(os, "getpid", _process_id)
    patches.at_end(_take_over_children)


def _process_id() -> int:
    return _GREATEST + 1 + rank_state.of_rank().rank


# The seconds for which a daemon may take to end.
_PATIENCE = 5


def _take_over_children() -> None:
    """Does what ``multiprocessing`` does when a process ends: daemons end with it. The host waits
    for the others when it ends itself, and may join them, as their parent.
    """
    parent = os.getpid()
    children: set[Any] = multiprocessing.process._children  # type: ignore[attr-defined]
    for child in list(children):
        if child._parent_pid > _GREATEST:
            child._parent_pid = parent
            if child.daemon:
                child.kill()  # a child of a rank's thread has other signals blocked
                child.join(_PATIENCE)
