"""CPU times of calls, the least of several, so that a busy machine counts little."""

from __future__ import annotations

import time
from typing import Callable

Call = Callable[[], object]


def microseconds(call: Call) -> float:
    """The time of one call, in microseconds."""
    calls, least = 1, float("inf")
    call()
    while True:
        begin = time.process_time()
        for _ in range(calls):
            call()
        took = time.process_time() - begin
        if took >= 0.01:
            break
        calls *= 2
    for _ in range(5):
        begin = time.process_time()
        for _ in range(calls):
            call()
        least = min(least, (time.process_time() - begin) / calls)
    return 1e6 * least
