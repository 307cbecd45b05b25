"""One piece of process-wide state that each rank has for itself."""

from __future__ import annotations

from typing import Any, Protocol


class Part(Protocol):
    """State that is saved for the rank that loses the turn and loaded for the one that gets it.

    ``fresh`` gives the state with which a rank starts; it is called on the host before the run.
    ``save`` and ``load`` are called at every change of the turn, so they take about a microsecond
    and copy nothing that can't have changed.
    """

    def fresh(self, rank: int) -> Any: ...

    def save(self) -> Any: ...

    def load(self, state: Any) -> None: ...
