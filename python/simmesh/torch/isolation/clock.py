"""The time of ranks: it passes when no rank can run, so sleeping costs nothing and is the same in
every run.
"""

from __future__ import annotations

import time
from typing import Any

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

# Seconds since 1970 at the begin of every run: 1 January 2026.
_BEGIN = 1_767_225_600.0
# Each look at a clock takes that many seconds, so that durations are never zero and waiting loops
# end.
_READ = 1e-6


def now() -> float:
    """Seconds of virtual time since the run's begin, as this rank's clock shows them."""
    state = rank_state.of_rank()
    state.clock_reads += 1
    return _core.virtual_time() + state.clock_reads * _READ


def _now_nanoseconds() -> int:
    return round(now() * 1e9)


def _time() -> float:
    return _BEGIN + now()


def _time_nanoseconds() -> int:
    return round(_time() * 1e9)


def install(patches: Patches) -> None:
    """Lets ``time.sleep`` and the clocks of the module ``time`` show virtual time in ranks."""
    patches.in_ranks(time, "sleep", _sleep)
    patches.in_ranks(time, "time", _time)
    patches.in_ranks(time, "time_ns", _time_nanoseconds)
    for name in ("monotonic", "perf_counter"):
        patches.in_ranks(time, name, now)
        patches.in_ranks(time, f"{name}_ns", _now_nanoseconds)


def _sleep(seconds: Any) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    _core.sleep(float(seconds))
