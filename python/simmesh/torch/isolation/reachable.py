"""The containers in which packages keep state: what is reachable from their modules."""

from __future__ import annotations

import enum
import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Modules of Python whose classes hold what a package puts into them.
_HOLDING = ("collections", "weakref", "_weakrefset", "functools", "queue", "contextlib")
# Values that hold nothing that changes.
_PLAIN = (str, bytes, int, float, complex, bool, type(None), types.CodeType, enum.Enum)
_METHODS = (staticmethod, classmethod, types.MethodType)
# Names whose values Python makes, and code doesn't change.
_FIXED = (
    "__all__", "__annotations__", "__builtins__", "__dataclass_fields__", "__dict__", "__loader__",
    "__path__", "__spec__", "__weakref__",
)  # fmt: skip

Belongs = Callable[[str], bool]


def containers(roots: Iterable[Any], belongs: Belongs) -> Iterator[Any]:
    """Yields modules, classes, dicts, lists, sets, deques, cells and caches that code of a package
    can change, from the modules of packages on.

    ``belongs`` tells if a module is one of a package, by its name. Values of other packages aren't
    looked into.
    """
    seen: set[int] = set()
    waiting: deque[Any] = deque(roots)
    # Values that are made while looking live as long as their ids are compared.
    kept: list[Any] = []
    while waiting:
        value = waiting.popleft()
        if isinstance(value, _PLAIN) or id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        found, inside = _look_into(value, belongs)
        yield from found
        waiting.extend(inside)


def _look_into(value: Any, belongs: Belongs) -> tuple[list[Any], Iterable[Any]]:
    """The containers that a value is, and the values in it."""
    if isinstance(value, types.ModuleType):
        return _module(value, belongs) if belongs(value.__name__) else ([], ())
    if isinstance(value, type):
        return ([value], _named(vars(value))) if belongs(value.__module__) else ([], ())
    if isinstance(value, (dict, list, set, deque)):
        # Subclasses may make values when they are asked for them.
        items = list(dict.values(value)) if isinstance(value, dict) else list(value)
        found, inside = _attributes(value, belongs)
        return [value, *found], [*items, *inside]
    if isinstance(value, (tuple, frozenset)):
        return [], [*value, *_attributes(value, belongs)[1]]
    if isinstance(value, types.FunctionType):
        return _function(value) if belongs(value.__module__ or "") else ([], ())
    if isinstance(value, types.CellType):
        try:
            return [value], [value.cell_contents]
        except ValueError:
            return [value], ()
    if isinstance(value, functools._lru_cache_wrapper):
        inner = getattr(value, "__wrapped__", None)
        if not belongs(getattr(inner, "__module__", None) or ""):
            return [], ()
        return [value], [inner]
    if isinstance(value, _METHODS):
        return [], [value.__func__, getattr(value, "__self__", None)]
    if isinstance(value, property):
        return [], [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.partial):
        return [], [value.func, value.args, value.keywords]
    return _attributes(value, belongs)


def _module(value: types.ModuleType, belongs: Belongs) -> tuple[list[Any], list[Any]]:
    """A module, with the attributes that code may yet give to its functions."""
    inside = _named(vars(value))
    functions = [
        each.__dict__ for each in inside
        if isinstance(each, types.FunctionType) and belongs(each.__module__ or "")
    ]  # fmt: skip
    return [value, *functions], inside


def _function(value: types.FunctionType) -> tuple[list[Any], list[Any]]:
    names = value.__dict__
    inside = [value.__defaults__, value.__kwdefaults__, *(value.__closure__ or ())]
    return ([names] if names else []), [*inside, *names.values()]


def _attributes(value: Any, belongs: Belongs) -> tuple[list[Any], list[Any]]:
    """The attributes of an object of a package's class."""
    kind = type(value)
    module = kind.__module__
    if not (belongs(module) or module in _HOLDING):
        return [], []
    try:
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return [], []
    if type(names) is not dict:
        return [], []
    return [names], [*names.values(), kind]


def _named(names: Any) -> list[Any]:
    # Some tables have keys that aren't text.
    return [
        value for name, value in list(names.items())
        if name not in _FIXED and not str(name).startswith("__pydantic_")
    ]  # fmt: skip
