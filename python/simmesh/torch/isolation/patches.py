"""Functions that are replaced while a run lasts."""

from __future__ import annotations

import functools
from typing import Any, Callable

from simmesh import _core

_MISSING = object()

# The replacement that was made last, by function and name: every run makes the same ones.
_made: dict[tuple[Callable[..., Any], str], Any] = {}


class Patches:
    """Replacements of attributes, undone in reverse order.

    ``in_ranks`` replaces a function only for the threads of ranks; all other threads keep the
    original function. ``around_in_ranks`` replaces it by a function that gets the original as its
    first argument.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner).get(name, _MISSING)
        self._undo.append(functools.partial(_put_back, owner, name, before))
        setattr(owner, name, value)

    def in_ranks(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        self._choose(owner, name, function, lambda original: function)

    def around_in_ranks(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        self._choose(owner, name, function, lambda original: functools.partial(function, original))

    def _choose(
        self,
        owner: Any,
        name: str,
        function: Callable[..., Any],
        in_ranks: Callable[[Any], Callable[..., Any]],
    ) -> None:
        original = getattr(owner, name)
        chosen = _made.get((function, name))
        if chosen is None or chosen.__wrapped__ is not original:
            chosen = _made[function, name] = _chosen(original, in_ranks(original))
        self.replace(owner, name, chosen)

    def at_end(self, restore: Callable[[], None]) -> None:
        """Adds what puts back a replacement that was made by other means."""
        self._undo.append(restore)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()


def _put_back(owner: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


def _chosen(original: Callable[..., Any], function: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def chosen(*arguments: Any, **options: Any) -> Any:
        if _core.rank() is None:
            return original(*arguments, **options)
        return function(*arguments, **options)

    return chosen
