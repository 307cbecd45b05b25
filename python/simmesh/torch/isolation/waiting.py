"""Waits outside of simmesh: for files, pipes and sockets, with ``select`` and event loops.

Where a thread of the rank may bring the event, the rank gives its turn away. A wait with a time
limit ends by it: the run's time passes, as for ``time.sleep``. Clocks of ranks stand still while a
rank waits outside of simmesh, so a loop that waits until a clock shows an end, as ``asyncio`` and
``multiprocessing`` have, would never end.
"""

from __future__ import annotations

import queue
import select
import selectors
import threading
from typing import Any

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation import outside
from simmesh.torch.isolation.clock import now
from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets time pass in waits of ``threading``, ``queue``, ``asyncio`` and ``select``."""
    patches.in_ranks(queue, "time", now)
    patches.in_ranks(threading, "_time", now)
    patches.around_in_ranks(select, "select", _select)
    for name in ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector",
                 "KqueueSelector"):  # fmt: skip
        if hasattr(selectors, name):
            patches.around_in_ranks(getattr(selectors, name), "select", _select_registered)


def _select(of_python: Any, read: Any, write: Any, other: Any, timeout: Any = None) -> Any:
    if rank_state.has_threads():

        def look(seconds: float | None) -> Any:
            ready = of_python(read, write, other, seconds)
            return ready if any(ready) else None

        return outside.wait(look, timeout) or ([], [], [])
    found = of_python(read, write, other, timeout)
    if timeout is not None and timeout > 0 and not any(found):
        _core.sleep(float(timeout))
    return found


def _select_registered(of_python: Any, selector: Any, timeout: float | None = None) -> Any:
    if rank_state.has_threads():
        return outside.wait(lambda seconds: of_python(selector, seconds), timeout)
    # An event loop's own pipe wakes it for its threads only. Pipes to processes have no data.
    files = selector.get_map().values()
    is_loop = len(files) <= 1 and all(file.data is not None for file in files)
    is_alone = is_loop and not rank_state.of_rank().foreign_threads()
    real = min(timeout, outside.LOOK) if is_alone and timeout is not None else timeout
    found = of_python(selector, real)
    if timeout is not None and timeout > 0 and not found:
        _core.sleep(float(timeout))
    return found
