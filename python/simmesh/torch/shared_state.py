"""Variables that ranks share: what a rank changes in modules of the user, in closures and in
arguments while others wait.

Ranks see each other's changes only after the turn has passed. So it is enough to look whenever it
passes: whatever a rank changed and left so is noted.
"""

from __future__ import annotations

import array
import functools
import gc
import io
import itertools
import os
import random
import site
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

import torch

import simmesh
from simmesh import _core

# Packages whose own state doesn't let ranks see each other, where they are installed: a program's
# own module may have the name of one.
_TRUSTED = frozenset((
    "torch", "numpy", "simmesh", "pytest", "_pytest", "pluggy", "nanobind", "sympy", "mpmath",
    "networkx", "jinja2", "markupsafe", "typing_extensions", "setuptools", "pkg_resources",
    "packaging", "filelock", "fsspec", "triton", "functorch", "hypothesis", "expecttest",
    "iniconfig", "_distutils_hack", "coverage", "torchgen", "cuda", "pygments", "py",
)) | frozenset(sys.stdlib_module_names) - {"__main__"}  # fmt: skip

_INSTALLED = tuple(
    os.path.join(folder, "")
    for folder in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(), site.getusersitepackages(),
        *(str(Path(package.__file__).parent) for package in (simmesh, torch) if package.__file__),
    }
)  # fmt: skip

# Classes of these modules hold what a program puts into them.
_HOLDING = ("collections", "queue", "types", "torch", "functools", "weakref", "_weakrefset")
_PLAIN = (
    str, bytes, int, float, complex, bool, type(None), range, slice, types.CodeType,
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType,
    type(Ellipsis), type(NotImplemented), torch.dtype, torch.device, torch.layout,
    torch.memory_format,
)  # fmt: skip
_CONTAINERS = (dict, list, set, deque, types.CellType, functools._lru_cache_wrapper)
_STREAMS = ("<stdin>", "<stdout>", "<stderr>", 0, 1, 2)
_SETTINGS = ("__builtins__", "__annotations__", "__cached__", "__spec__", "__loader__")


def _is_trusted(top: str) -> bool:
    """True for an installed package that is trusted, and for modules of the interpreter."""
    # Python names the module of its settings after the machine.
    if not (top in _TRUSTED or top.startswith("_sysconfigdata_")) or top not in sys.modules:
        return False
    contents = vars(sys.modules[top])
    place = contents.get("__file__") or next(iter(contents.get("__path__") or ()), None)
    return place is None or os.path.abspath(place).startswith(_INSTALLED)


class SharedState:
    """The variables that a program's ranks share, from the modules of the user and a function on.

    ``isolated`` tells whether each rank has its own contents of a module.
    """

    def __init__(self, program: Any, isolated: Callable[[str], bool]) -> None:
        self._isolated = isolated
        self._contents = _core.OwnContents()
        self._states: list[tuple[str, Callable[[], Any], Any]] = []
        self._kept: list[Any] = []
        self._tops: dict[str, bool] = {}  # packages that are trusted, and those that aren't
        #: The first thing that can't be looked into, in words; empty for nothing.
        self.unknown = ""
        modules = [
            each for name, each in list(sys.modules.items())
            if isinstance(each, types.ModuleType) and self._is_users(name)
        ]  # fmt: skip
        self._walk([program, *modules])
        self._contents.begin()
        self._modules = set(sys.modules)

    def look(self) -> str:
        """Says in words what changed since the last look; empty for nothing."""
        if self._contents.has_changed():
            return "variables that ranks share"
        for what, read, before in self._states:
            if read() != before:
                return f"{what} that ranks share"
        if len(sys.modules) != len(self._modules):
            for name in sorted(set(sys.modules) - self._modules):
                if self._is_users(name):
                    return f"the modules that there are: it imported {name}"
            self._modules = set(sys.modules)
        return ""

    def swapped(self) -> None:
        """Takes what is there for what was: a swap of ranks' own state may have changed it."""
        if self._contents.has_changed():
            self._contents.begin()

    def _is_users(self, module: Any) -> bool:
        if type(module) is not str:
            return False
        top = module.partition(".")[0]
        is_trusted = self._tops.get(top)
        if is_trusted is None:
            is_trusted = self._tops[top] = _is_trusted(top)
        return not is_trusted and not self._isolated(module)

    def _walk(self, roots: Iterable[Any]) -> None:
        seen: set[int] = set()
        waiting = deque(roots)
        while waiting:
            value = waiting.popleft()
            if isinstance(value, _PLAIN) or id(value) in seen:
                continue
            seen.add(id(value))
            self._kept.append(value)
            waiting.extend(self._look_into(value))

    def _look_into(self, value: Any) -> Iterable[Any]:
        kind = type(value)
        if isinstance(value, types.ModuleType):
            if not self._is_users(value.__name__):
                return ()
            self._contents.add(value)
            return [each for name, each in vars(value).items() if name not in _SETTINGS]
        if isinstance(value, type):
            if not self._is_users(value.__module__):
                return ()
            self._contents.add(value)
            return list(vars(value).values())
        if isinstance(value, types.FunctionType):
            if not self._is_users(value.__module__ or ""):
                return ()
            inside = [value.__defaults__, value.__kwdefaults__, *(value.__closure__ or ())]
            return [*inside, value.__dict__] if value.__dict__ else inside
        if isinstance(value, (types.MethodType, functools.partial, staticmethod, classmethod,
                              property, tuple, frozenset)):  # fmt: skip
            return gc.get_referents(value)
        return [*self._contained(value), *self._attributes(value, kind)]

    def _contained(self, value: Any) -> Iterable[Any]:
        """Watches a container, or an object with a state of its own. Returns what it holds."""
        if isinstance(value, _CONTAINERS):
            self._contents.add(value)
            return gc.get_referents(value)
        read = _reader(value)
        if read is not None:
            self._states.append((f"a {type(value).__name__}", read, read()))
        elif isinstance(value, io.IOBase):
            streams = (sys.stdin, sys.stdout, sys.stderr)
            is_own = type(value).__module__ == "_io" or self._is_users(type(value).__module__)
            if is_own and value not in streams and getattr(value, "name", None) not in _STREAMS:
                self.unknown = self.unknown or f"a file that ranks share, {value!r}"
        elif hasattr(type(value), "__next__") or isinstance(value, memoryview):
            self.unknown = self.unknown or f"a {type(value).__name__} that ranks share"
        return ()

    def _attributes(self, value: Any, kind: type) -> Iterable[Any]:
        if not (self._is_users(kind.__module__) or _top_of(kind) in _HOLDING):
            return ()
        found: list[Any] = []
        try:
            names = object.__getattribute__(value, "__dict__")
        except AttributeError:
            names = None
        if type(names) is dict:
            self._contents.add(names)
            found += names.values()
        slots = [
            name for base in kind.__mro__ for name, each in vars(base).items()
            if isinstance(each, types.MemberDescriptorType) and "__slots__" in vars(base)
            and self._is_users(base.__module__)
        ]  # fmt: skip
        if slots:
            found += [getattr(value, name, None) for name in slots]
            read = _slots(value, slots)
            self._states.append((f"a {kind.__name__}", read, read()))
        return found


def _top_of(kind: type) -> str:
    return kind.__module__.partition(".")[0] if type(kind.__module__) is str else ""


def _slots(value: Any, names: list[str]) -> Callable[[], Any]:
    return lambda: [id(getattr(value, name, None)) for name in names]


def _reader(value: Any) -> Callable[[], Any] | None:
    """A function that reads the state of an object of C code; None for other objects."""
    if isinstance(value, torch.Tensor):
        return lambda: (value._version, tuple(value.shape), id(value.grad) if value.is_leaf else 0)
    if value is random._inst or value is torch.default_generator:  # type: ignore[attr-defined]
        return None  # each rank has its own state of them
    if isinstance(value, torch.Generator):
        return lambda: bytes(value.get_state().numpy())
    if isinstance(value, random.Random):
        return value.getstate
    if isinstance(value, itertools.count):
        return value.__repr__
    if isinstance(value, (bytearray, array.array)):
        return lambda: bytes(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        return value.tobytes
    return None
