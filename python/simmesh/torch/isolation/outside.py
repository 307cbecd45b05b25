"""Waits for events from outside of the run, while the threads of the rank go on."""

from __future__ import annotations

import time
from typing import Any, Callable

from simmesh import _core
from simmesh.torch import rank_state

#: Wall time in seconds for which a wait looks for an event that a process, or a thread that the
#: schedule doesn't know, may bring.
LOOK = 0.05

# The host's clock, which is the wall's.
_now = time.monotonic


def wait(look: Callable[[float | None], Any], timeout: float | None) -> Any:
    """Waits until ``look`` returns a true value, and returns that. ``look`` waits for as many
    seconds of wall time, or for as long as it takes, and keeps the turn.

    Other ranks and threads run first. When none can, the event may come from outside, and time
    passes for those that sleep. The time limit is one of virtual time. Returns what ``look`` does
    after it.
    """
    end = None if timeout is None else _core.virtual_time() + timeout
    limit = rank_state.of_rank().shared.timeout
    begin = _now()
    while not (found := look(0)):
        left = None if end is None else end - _core.virtual_time()
        if left is not None and left <= 0:
            break
        if _core.others_can_run():
            _core.sleep(0)
            continue
        if found := look(LOOK):
            break
        sleeper = _core.next_deadline()
        naps = [] if left is None else [left]
        if sleeper is not None:
            naps.append(sleeper - _core.virtual_time())
        if not naps and limit > 0 and _now() - begin > limit:
            return look(None)  # which is reported
        _core.sleep(max(0.0, min(naps, default=0.0)))
    return found
