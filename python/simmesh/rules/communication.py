"""Finds out whether a function may communicate, from the names in its code."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

from simmesh.rules.calls import Applied

# Names of attributes of torch and torch.ops that lead to collectives.
_NAMES = {"distributed", "c10d", "_c10d_functional", "_c10d_functional_autograd", "rule_mesh"}
_MODULES = ("torch.distributed", "spmd_types", "simmesh.typed")
_LOCAL = ("torch", "numpy", "simmesh")
# A function that leads to more objects than that is run on ranks.
_OBJECTS_MAX = 2000


def may_communicate(function: Any) -> bool:
    """True if a function, or what it calls, names torch.distributed or something of it.

    Functions of PyTorch itself and of the standard library aren't looked into.
    """
    for count, each in enumerate(_all_reached(function)):
        if count > _OBJECTS_MAX or _is_distributed(each):
            return True
    return False


def names_rule_mesh(function: Any) -> bool:
    """True if a function, or what it calls, names ``rule_mesh``."""
    return any(
        isinstance(each, types.CodeType) and "rule_mesh" in each.co_names
        for each in itertools.islice(_all_reached(function), _OBJECTS_MAX)
    )


def _all_reached(function: Any) -> Iterator[Any]:
    """A function and the objects that its call may use."""
    seen: dict[int, Any] = {}
    waiting = [function]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen[id(each)] = each
            yield each
            waiting += _reached(each)


def _module_name(entry: Any) -> str:
    if isinstance(entry, types.ModuleType):
        return entry.__name__
    owner = entry if isinstance(entry, (type, types.FunctionType)) else type(entry)
    return str(getattr(owner, "__module__", "") or "")


def _is_distributed(entry: Any) -> bool:
    name = _module_name(entry)
    if type(entry).__name__ in ("ProcessGroup", "DeviceMesh"):
        return True
    if any(name == module or name.startswith(f"{module}.") for module in _MODULES):
        return True
    return isinstance(entry, types.CodeType) and any(
        word in _NAMES or word.startswith("torch.distributed") for word in entry.co_names
    )


def _is_foreign(entry: Any) -> bool:
    """True for what isn't looked into: PyTorch, numpy, simmesh and the standard library."""
    root = _module_name(entry).split(".")[0]
    return root in _LOCAL or root in sys.stdlib_module_names


def _reached(entry: Any) -> Iterator[Any]:
    """The objects that a call of an object may use."""
    if isinstance(entry, Applied):
        yield entry.owner
    elif isinstance(entry, functools.partial):
        yield from (entry.func, *entry.args, *entry.keywords.values())
    elif isinstance(entry, types.MethodType):
        yield from (entry.__func__, entry.__self__)
    elif isinstance(entry, types.BuiltinMethodType):
        # The apply of an autograd function.
        yield entry.__self__
    elif isinstance(entry, types.CodeType):
        yield from (each for each in entry.co_consts if isinstance(each, types.CodeType))
    elif isinstance(entry, (staticmethod, classmethod)):
        yield entry.__func__
    elif isinstance(entry, (list, tuple)):
        yield from entry[:_OBJECTS_MAX]
    elif isinstance(entry, dict):
        yield from list(entry.values())[:_OBJECTS_MAX]
    elif isinstance(entry, types.FunctionType):
        yield from _of_function(entry)
    elif isinstance(entry, type):
        if not _is_foreign(entry):
            yield from vars(entry).values()
            yield from entry.__bases__
    elif not isinstance(entry, (types.ModuleType, str, bytes, int, float)) and not _is_foreign(
        entry
    ):
        yield type(entry)
        yield from vars(entry).values() if hasattr(entry, "__dict__") else ()


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    wrapped = inspect.unwrap(function)
    if wrapped is not function:
        yield wrapped
    if _is_foreign(function) and function.__name__ != "<lambda>":
        return
    yield function.__code__
    yield from _globals_of(function.__code__, function.__globals__)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that has no value yet
            continue
    yield from function.__defaults__ or ()


def _globals_of(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    for name in code.co_names:
        if name in names:
            value = names[name]
            yield value
            if isinstance(value, types.ModuleType) and not _is_foreign(value):
                # Functions of a module of the user's, named as its attributes.
                yield from (vars(value)[word] for word in code.co_names if word in vars(value))
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _globals_of(each, names)
