"""Attributes of modules and objects that each rank has for itself."""

from __future__ import annotations

import copy
import functools
import importlib
import os
import sys
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any, Callable, Iterable

from simmesh.torch.isolation.namespace_version import version_reader

_MISSING = object()
_CODE = {type, FunctionType, BuiltinFunctionType, staticmethod, classmethod, property,
         functools._lru_cache_wrapper}  # fmt: skip


class ModuleAttributes:
    """Some global names of one module. ``make`` gives a rank's first value from the host's."""

    def __init__(
        self, namespace: dict[str, Any], names: Iterable[str], make: Callable[[Any, int], Any]
    ) -> None:
        self._namespace = namespace
        self._names = tuple(name for name in names if name in namespace)
        self._make = make

    def fresh(self, rank: int) -> dict[str, Any]:
        return {name: self._make(self._namespace[name], rank) for name in self._names}

    def save(self) -> dict[str, Any]:
        namespace = self._namespace
        return {name: namespace[name] for name in self._names}

    def load(self, state: dict[str, Any]) -> None:
        self._namespace.update(state)


class Patched:
    """The functions of one module or class that programs replace, such as ``dist.all_reduce =
    mine``.

    Nothing is read unless the namespace changed, and nothing is written unless a rank replaced one
    of them.
    """

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._namespace = vars(owner)
        self._version = version_reader(owner)
        self._names = [name for name, value in self._namespace.items() if type(value) in _CODE]
        self._values = itemgetter(*self._names)
        self._host = self._values(self._namespace)
        self._loaded = self._host
        self._seen = None

    def fresh(self, rank: int) -> tuple[Any, ...]:
        return self._host

    def save(self) -> tuple[Any, ...]:
        if self._version is not None and self._version() == self._seen:
            return self._loaded
        try:
            values: tuple[Any, ...] = self._values(self._namespace)
        except KeyError:  # a rank deleted one
            values = tuple(self._namespace.get(name, _MISSING) for name in self._names)
        # Equal means identical here: tuples compare their elements by identity first, and functions
        # only by that.
        self._loaded = self._loaded if values == self._loaded else values
        return self._loaded

    def load(self, state: tuple[Any, ...]) -> None:
        if state is not self._loaded:
            for name, new, old in zip(self._names, state, self._loaded):
                if new is _MISSING:
                    delattr(self._owner, name)
                elif new is not old:
                    setattr(self._owner, name, new)
            self._loaded = state
        if self._version is not None:
            self._seen = self._version()


class ObjectAttribute:
    """One attribute of any object: what a user lists under ``isolate``. Each rank starts with a
    deep copy.
    """

    def __init__(self, owner: Any, name: str) -> None:
        if not hasattr(owner, name):
            raise AttributeError(
                f"[torch/isolation] isolate: expected an attribute of {owner!r}, got the name "
                f"{name}"
            )
        self._owner = owner
        self._name = name

    def fresh(self, rank: int) -> Any:
        return copy.deepcopy(getattr(self._owner, self._name))

    def save(self) -> Any:
        return getattr(self._owner, self._name, _MISSING)

    def load(self, state: Any) -> None:
        if state is not _MISSING:
            setattr(self._owner, self._name, state)
        elif hasattr(self._owner, self._name):
            delattr(self._owner, self._name)


class Environment:
    """The variables of the environment as Python sees them, with each rank's own added.

    C code sees the variables of the rank that set one last, and the host's again after the run.
    """

    def __init__(self, of_rank: Callable[[int], dict[str, str]]) -> None:
        self._of_rank = of_rank
        self._host: dict[Any, Any] = os.environ._data

    def fresh(self, rank: int) -> dict[Any, Any]:
        own = {
            os.environ.encodekey(k): os.environ.encodevalue(v)
            for k, v in self._of_rank(rank).items()
        }
        return {**self._host, **own}

    def save(self) -> dict[Any, Any]:
        return os.environ._data

    def load(self, state: dict[Any, Any]) -> None:
        os.environ._data = state
        if os.supports_bytes_environ:
            os.environb._data = state

    def restore_process(self, states: Iterable[dict[Any, Any]]) -> None:
        """Gives C code the host's variables back, after ranks with these states have ended."""
        changed = {key for state in states for key in state.keys() | self._host.keys()
                   if state.get(key) != self._host.get(key)}  # fmt: skip
        for key in changed:
            if key in self._host:
                os.putenv(key, self._host[key])
            else:
                os.unsetenv(key)


def user_attribute(entry: str | tuple[Any, str]) -> ObjectAttribute:
    """The attribute that an entry of ``isolate`` names: a dotted name, or an object and an
    attribute's name.
    """
    if not isinstance(entry, str):
        owner, name = entry
        return ObjectAttribute(owner, name)
    path, _, name = entry.rpartition(".")
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            owner = sys.modules.get(module) or importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            owner = getattr(owner, part)
        return ObjectAttribute(owner, name)
    raise ValueError(f"[torch/isolation] isolate: expected module.attribute, got {entry!r}")
