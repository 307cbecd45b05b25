"""Tells if a dictionary, or a module's or class's names, changed, where Python counts changes."""

from __future__ import annotations

import ctypes
import functools
import gc
import operator
import sys
from collections.abc import Sequence
from typing import Any

# The field follows the object's header and the number of items.
_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)


def version_readers(owners: Sequence[Any]) -> list[ctypes.c_uint64] | None:
    """Returns for each dictionary, module or class a number that differs after every change;
    None if Python has none.

    Reading one takes a tenth of the time of looking at a module's functions. The owners must live
    as long as the numbers.
    """
    return [_reader(owner) for owner in owners] if _counts_changes() else None


class Look:
    """Looks whether a dictionary, a module's or a class's names changed since the last look; at the
    first they did. Where Python doesn't count changes, values are compared.
    """

    def __init__(self, owner: Any) -> None:
        self._names = owner if isinstance(owner, dict) else vars(owner)
        versions = version_readers([owner])
        self._version = None if versions is None else versions[0]
        self._seen_version: int | None = None
        self._seen: tuple[list[Any], list[Any]] | None = None

    def has_changed(self) -> bool:
        """True if a name was added or removed, or has another value."""
        version = None if self._version is None else self._version.value
        if version is not None and version == self._seen_version:
            return False
        self._seen_version = version
        names, values, before = list(self._names), list(self._names.values()), self._seen
        if before is not None and names == before[0] and _are_same(values, before[1]):
            return False
        self._seen = names, values
        return True

    def forget(self) -> None:
        """Lets the next look be the first."""
        self._seen_version = self._seen = None


def _are_same(values: list[Any], others: list[Any]) -> bool:
    return len(values) == len(others) and all(map(operator.is_, values, others))


def _reader(owner: Any) -> ctypes.c_uint64:
    namespace = owner if isinstance(owner, dict) else vars(owner)
    if isinstance(owner, type):
        namespace = gc.get_referents(namespace)[0]
    return ctypes.c_uint64.from_address(id(namespace) + _OFFSET)


@functools.cache
def _counts_changes() -> bool:
    # Later versions than 3.11 use the field for watchers, too, and then give it up.
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 12):
        return False

    class Example:
        value = 1

    for owner in (Example, sys.modules[__name__]):
        version = _reader(owner)
        seen = [version.value]
        owner.changed = 1  # type: ignore[union-attr]
        seen.append(version.value)
        del owner.changed  # type: ignore[union-attr]
        seen.append(version.value)
        if len(set(seen)) != 3 or version.value != seen[-1]:
            return False
    return True
