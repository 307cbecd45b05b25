"""Swaps the state of ranks when the turn changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simmesh.torch.isolation import sharding_caches
from simmesh.torch.isolation.group_registry import GroupRegistry
from simmesh.torch.isolation.part import Part

_HOST = -1


class Swap:
    """The states of the host and of each rank of one run. ``switched`` is what the core calls with
    the turn's rank and seat.
    """

    def __init__(self, parts: Sequence[Part], ranks: int) -> None:
        self._parts = list(parts)
        self._save = [part.save for part in self._parts]
        self._load = [part.load for part in self._parts]
        self._states: dict[int, list[Any]] = {
            rank: [part.fresh(rank) for part in self._parts] for rank in range(ranks)
        }
        self._current = _HOST
        self._seat = _HOST
        self._registry = GroupRegistry()

    def switched(self, rank: int, seat: int) -> None:
        """Saves the state of the last holder of the turn and loads that of ``rank``. The threads
        of a rank share it, but for torch's registries of groups.
        """
        if seat == self._seat:
            return
        self._registry.leave(self._current, self._seat)
        self._load_rank(rank)
        self._seat = seat
        self._registry.enter(rank, seat)
        sharding_caches.enter()

    def _load_rank(self, rank: int) -> None:
        if rank == self._current:
            return
        self._states[self._current] = [save() for save in self._save]
        self._current = rank
        for load, state in zip(self._load, self._states[rank]):
            load(state)

    def restore_host(self) -> None:
        """Loads the state that the host had before the first rank got the turn."""
        if self._current != _HOST:
            self._load_rank(_HOST)

    def states_of(self, part: Part) -> list[Any]:
        """The saved states of all ranks for one part, in rank order."""
        index = self._parts.index(part)
        return [state[index] for rank, state in sorted(self._states.items()) if rank != _HOST]
