"""The checking of a rank's thread: on or off, strict or permissive, local or global."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simmesh.typed.axes import MeshAxis
    from simmesh.typed.checker import Checker


class _State(threading.local):
    def __init__(self) -> None:
        self.checker: Checker | None = None


_state = _State()


def checker() -> Checker | None:
    """The checker of this thread, even if it is paused."""
    return _state.checker


def is_type_checking() -> bool:
    """True if types are checked, and not paused, in this thread."""
    return _state.checker is not None and not _state.checker.is_paused


def is_strict() -> bool:
    """True if operands without a type are refused."""
    return _state.checker is not None and _state.checker.is_strict


def global_axes(axes: list[MeshAxis]) -> frozenset[MeshAxis] | None:
    """The axes whose cuts are followed; None in local checking."""
    from simmesh.typed.axes import current_mesh

    if _state.checker is None or _state.checker.is_local:
        return None
    mesh = current_mesh()
    return frozenset(axes) - (mesh.local if mesh is not None else frozenset())


@contextmanager
def typecheck(strict_mode: str | None = None, local: bool | None = None) -> Iterator[None]:
    """Types all that runs inside, in this thread.

    Args:
        strict_mode: "strict" refuses operands without a type on an axis of the current mesh,
            "permissive" leaves them out there. None keeps what is set, "strict" at first.
        local: False follows cuts through operations (global checking). None keeps what is set,
            True at first.
    """
    from simmesh.typed.checker import Checker

    if strict_mode not in (None, "strict", "permissive"):
        raise ValueError(
            f"[typed] strict_mode: expected 'strict' or 'permissive', got {strict_mode!r}"
        )
    old = _state.checker
    if old is not None:
        kept = (old.is_strict, old.is_local, old.is_paused)
        old.is_paused = False
        old.is_strict = kept[0] if strict_mode is None else strict_mode == "strict"
        old.is_local = kept[1] if local is None else local
        try:
            yield
        finally:
            old.is_strict, old.is_local, old.is_paused = kept
        return
    made = Checker(strict_mode != "permissive", True if local is None else local)
    _state.checker = made
    try:
        with made:
            yield
    finally:
        _state.checker = None


@contextmanager
def paused() -> Iterator[None]:
    """Leaves all that runs inside unchecked."""
    checker = _state.checker
    if checker is None:
        yield
        return
    kept = checker.is_paused
    checker.is_paused = True
    try:
        yield
    finally:
        checker.is_paused = kept
