"""Names of modules and classes that hardly any program changes, such as their functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from simmesh.torch.isolation.namespace_version import version_readers

_MISSING = object()
_CODE = {
    type,
    FunctionType,
    BuiltinFunctionType,
    staticmethod,
    classmethod,
    property,
    functools._lru_cache_wrapper,
}

State = tuple[tuple[Any, ...], ...]


def functions(owner: Any) -> list[str]:
    """The names of a module's or class's functions and classes, which tests replace."""
    # By type, because some values of torch.distributed warn when they are asked for their class.
    return [name for name, value in vars(owner).items() if type(value) in _CODE]


class Watched:
    """Names whose values are swapped only if a rank changed one, as by ``dist.all_reduce =
    mine``.

    A state is the values of each owner. Where Python counts the changes of namespaces, only these
    counts are read. Other parts that write to the same namespaces must come before this one.
    """

    def __init__(self, owners: Iterable[tuple[Any, list[str]]]) -> None:
        self._owners = [(owner, vars(owner), names, _values(names)) for owner, names in owners]
        self._versions = version_readers([owner for owner, *_ in self._owners])
        self._loaded: State = tuple(map(self._read, range(len(self._owners))))
        self._seen = self._count()

    def fresh(self, rank: int) -> State:
        return self._loaded

    def save(self) -> State:
        count = self._count()
        if count is None or count != self._seen:
            found = [
                values if count is not None and count[index] == self._seen[index]
                else self._read_again(index, values)
                for index, values in enumerate(self._loaded)
            ]  # fmt: skip
            if any(map(operator.is_not, found, self._loaded)):
                self._loaded = tuple(found)
            self._seen = count
        return self._loaded

    def load(self, state: State) -> None:
        if state is not self._loaded:
            for (owner, _, names, _), new, old in zip(self._owners, state, self._loaded):
                if new is not old:
                    _write(owner, names, new, old)
            self._loaded = state
        self._seen = self._count()

    def _count(self) -> Any:
        return None if self._versions is None else [version.value for version in self._versions]

    def _read_again(self, index: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the owner's values: the same tuple if none changed, so that looks are short."""
        found = self._read(index)
        # Functions and classes are equal only if they are identical.
        return values if found == values else found

    def _read(self, index: int) -> tuple[Any, ...]:
        _, namespace, names, values = self._owners[index]
        try:
            return values(namespace)
        except KeyError:  # a rank deleted one
            return tuple(namespace.get(name, _MISSING) for name in names)


def _values(names: list[str]) -> Any:
    # One name alone would give its value instead of a tuple.
    return operator.itemgetter(*names, names[0])


def _write(owner: Any, names: list[str], new: tuple[Any, ...], old: tuple[Any, ...]) -> None:
    for name, value, before in zip(names, new, old):
        if value is _MISSING:
            delattr(owner, name)
        elif value is not before:
            setattr(owner, name, value)
