"""Names of modules and classes that hardly any program changes, such as their functions."""

from __future__ import annotations

import functools
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any, Iterable

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


def functions(owner: Any) -> list[str]:
    """The names of a module's or class's functions and classes, which tests replace."""
    # By type, because some values of torch.distributed warn when they are asked for their class.
    return [name for name, value in vars(owner).items() if type(value) in _CODE]


class Watched:
    """Names whose values are swapped only if a rank changed one, as by ``dist.all_reduce = mine``.

    A state is the values of each owner. Where Python counts the changes of namespaces, nothing else
    is looked at; other parts that write to the same namespaces must come before this one.
    """

    def __init__(self, owners: Iterable[tuple[Any, list[str]]]) -> None:
        self._owners = [(owner, vars(owner), names, _values(names)) for owner, names in owners]
        self._versions = version_readers([owner for owner, *_ in self._owners])
        self._loaded = self._read()
        self._seen = self._count()

    def fresh(self, rank: int) -> list[tuple[Any, ...]]:
        return self._loaded

    def save(self) -> list[tuple[Any, ...]]:
        if self._versions is None or self._count() != self._seen:
            found = self._read()
            # Equal means identical here: tuples compare their elements by identity first.
            if found != self._loaded:
                self._loaded = found
        return self._loaded

    def load(self, state: list[tuple[Any, ...]]) -> None:
        if state is not self._loaded:
            for (owner, _, names, _), new, old in zip(self._owners, state, self._loaded):
                if new != old:
                    _write(owner, names, new, old)
            self._loaded = state
        self._seen = self._count()

    def _count(self) -> list[int] | None:
        return None if self._versions is None else [version.value for version in self._versions]

    def _read(self) -> list[tuple[Any, ...]]:
        found = []
        for _, namespace, names, values in self._owners:
            try:
                found.append(values(namespace))
            except KeyError:  # a rank deleted one
                found.append(tuple(namespace.get(name, _MISSING) for name in names))
        return found


def _values(names: list[str]) -> Any:
    # One name would give its value instead of a tuple.
    return itemgetter(*names, names[0])


def _write(owner: Any, names: list[str], new: tuple[Any, ...], old: tuple[Any, ...]) -> None:
    for name, value, before in zip(names, new, old):
        if value is _MISSING:
            delattr(owner, name)
        elif value is not before:
            setattr(owner, name, value)
