"""torch's registry of process groups in C++ code, of which each thread of a run has one.

All threads of a rank have the rank's groups: what one of them makes or destroys, the others get
when the turn comes to them.
"""

from __future__ import annotations

from typing import Any

import torch.distributed.distributed_c10d as c10d
from torch._C._distributed_c10d import _register_process_group, _unregister_process_group

from simmesh.torch import rank_state


class GroupRegistry:
    """The groups in the registries of the threads of one run, by seat."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, Any]] = {}

    def leave(self, rank: int, seat: int) -> None:
        """Notes the groups of the thread that loses the turn. Its rank's state is loaded."""
        if rank_state.has_started_threads(rank):
            self._known[seat] = _groups()
            if not rank_state.has_seat(rank, seat):
                del self._known[seat]  # another thread may get it

    def enter(self, rank: int, seat: int) -> None:
        """Gives the groups of the rank to the thread that gets the turn."""
        if not rank_state.has_started_threads(rank):
            return
        groups = _groups()
        # A body registers its groups itself; a thread begins with none.
        known = self._known.setdefault(seat, groups if seat == rank else {})
        if known == groups:
            return
        for name, group in known.items():
            if groups.get(name) is not group:
                _unregister_process_group(name)
        for name, group in groups.items():
            if known.get(name) is not group:
                _register_process_group(name, group)
        self._known[seat] = groups


def _groups() -> dict[str, Any]:
    return {name: group for group, name in c10d._world.pg_names.items()}
