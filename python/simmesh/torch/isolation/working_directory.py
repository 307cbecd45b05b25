"""The working directory, which each rank has for itself."""

from __future__ import annotations

import os
import sys
from typing import Any

from simmesh.torch.isolation.patches import Patches

_change_to_open = os.fchdir


class _Place:
    """The directory of the process. The process can return to it even if it was removed."""

    def __init__(self) -> None:
        self.file = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))

    def __del__(self) -> None:
        os.close(self.file)


# The directory of the rank that has the turn; None outside of runs.
_current: _Place | None = None


class WorkingDirectory:
    """The directory in which relative paths begin. Each rank starts in the host's."""

    def fresh(self, rank: int) -> _Place | None:
        return _current

    def save(self) -> _Place | None:
        return _current

    def load(self, state: _Place) -> None:
        if state is not _current:
            _change_to_open(state.file)
            _note(state)


def install(patches: Patches) -> None:
    """Notes where ranks go, so that a change of the turn needs no look at the directory."""
    patches.replace(sys.modules[__name__], "_current", _Place())
    patches.around_in_ranks(os, "chdir", _noting)
    patches.around_in_ranks(os, "fchdir", _noting)


def _note(place: _Place) -> None:
    global _current
    _current = place


def _noting(change: Any, *arguments: Any, **options: Any) -> None:
    change(*arguments, **options)
    _note(_Place())
