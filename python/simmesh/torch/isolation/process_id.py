"""The process ids of ranks, which programs use to tell their files apart."""

from __future__ import annotations

import os

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

# Linux gives no process an id that is greater, so that a signal to a rank reaches nobody.
_GREATEST = 2**22


def install(patches: Patches) -> None:
    """Gives each rank a process id of its own."""
    patches.in_ranks(os, "getpid", _process_id)


def _process_id() -> int:
    return _GREATEST + 1 + rank_state.of_rank().rank
