"""The state of packages: each rank has its own contents of their modules, classes, containers,
closures and caches, as each process has.

The objects stay the same for all ranks, and what they hold is swapped with the turn. So every
reference to them, in default arguments and in other packages too, sees the rank's own contents.
"""

from __future__ import annotations

import copy
import importlib._bootstrap as bootstrap
import importlib.util
import itertools
import random
import sys
import types
from collections.abc import Iterable
from typing import Any

import torch

from simmesh import _core
from simmesh.torch.isolation import near_names
from simmesh.torch.isolation.namespace_version import Look
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.reachable import containers
from simmesh.torch.isolation.torch_names import TorchNames

#: Packages that keep the state of their process; those that a program imports are isolated.
KNOWN = (
    "accelerate",
    "deepspeed",
    "filelock",
    "lightning",
    "lightning_fabric",
    "megatron",
    "pytorch_lightning",
    "spmd_types",
    "torchrec",
)

# PyTorch imports these itself. filelock forgets its locks where the process id is another one.
_OF_TORCH = ("filelock", "spmd_types")

# Objects whose state is behind C code: each rank gets a copy when the run begins.
_COPIED = (itertools.count, random.Random, torch.Generator)

_HOST = -1


class Packages:
    """The contents of packages and of single modules, and the patches on PyTorch's names, which are
    swapped with the turn.

    A module that is imported in a rank is imported for all: what the import changes in modules and
    registries, all ranks have. A module that a rank makes by hand is its own.
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._contents = _core.OwnContents()
        self._of_torch = _core.OwnContents()
        self._modules: dict[str, Any] = {}
        self._belonging: dict[str, bool] = {}
        self._states: dict[int, dict[str, types.ModuleType]] = {}
        self._rank = _HOST
        self._importing: dict[int, int] = {}
        self._count = 0
        self._torch_names = TorchNames()
        self._look = Look(sys.modules)
        # The packages that were found when ranks had no modules of their own.
        self._found: list[str] | None = None
        # The names whose values are copied for each rank, and how many of them a rank has.
        self._copied: list[tuple[Any, str]] = []
        self._copies: dict[int, int] = {}

    def begin(self, names: Iterable[str]) -> None:
        """Begins a run, with the packages that are isolated. Looks for their containers unless
        those of the last run are as they were.
        """
        chosen = (*KNOWN, *names)
        is_there = all(sys.modules.get(name) is each for name, each in self._modules.items())
        if chosen != self._names or not is_there or self._contents.has_changed():
            self._names, self._belonging, self._modules = chosen, {}, {}
            self._contents, self._copied, self._found = _core.OwnContents(), [], None
            self._look.forget()
        self._look_at_modules()
        self._contents.begin()
        for namespace in self._torch_names.changed():
            self._of_torch.add(namespace)
        self._of_torch.begin()
        self._states, self._importing, self._copies, self._rank = {}, {}, {}, _HOST
        self._count = len(sys.modules)

    def end(self) -> None:
        """Forgets what ranks had for themselves. The host's contents are loaded."""
        self._contents.begin()
        self._of_torch.begin()
        self._states = {}

    def found(self) -> list[str]:
        """The packages of which the program imported modules."""
        if self._states:
            return self.found_in({*self._modules, *itertools.chain(*self._states.values())})
        if self._found is None:
            self._found = self.found_in(self._modules)
        return self._found

    def found_in(self, modules: Iterable[str]) -> list[str]:
        """The packages to which some of these modules belong."""
        return [
            name for name in dict.fromkeys(self._names)
            if name not in (*_OF_TORCH, "__main__")
            and any(_is_in(module, name) for module in modules)
        ]  # fmt: skip

    def fresh(self, rank: int) -> int:
        return rank

    def save(self) -> int:
        return self._rank

    def load(self, rank: int) -> None:
        """Lets the rank that gets the turn have its own contents; -1 is the host."""
        if self._importing.get(self._rank):
            self._adopt()
        elif len(sys.modules) != self._count:
            self._keep_modules()
        self._contents.switch_to(rank)
        self._of_torch.switch_to(rank)
        if self._states:
            self._load_modules(rank)
        self._rank = rank
        self._copy()

    def imports(self, load: Any, *arguments: Any) -> Any:
        """Calls what imports a module. All ranks have what it changes."""
        rank = self._rank
        depth = self._importing.get(rank, 0)
        if depth == 0:
            if len(sys.modules) != self._count:
                self._keep_modules()
            self._contents.keep()
            self._of_torch.keep()
        self._importing[rank] = depth + 1
        try:
            return load(*arguments)
        finally:
            self._importing[rank] = depth
            if depth == 0 and self._rank == rank:
                self._adopt()

    def is_importing(self) -> bool:
        """True while the rank that has the turn imports a module."""
        return self._importing.get(self._rank, 0) > 0

    def _adopt(self) -> None:
        self._contents.adopt()
        self._of_torch.adopt()
        self._look_at_modules()
        self._copy()
        self._count = len(sys.modules)

    def _copy(self) -> None:
        count = len(self._copied)
        if self._rank == _HOST or self._copies.get(self._rank) == count:
            return
        for owner, name in self._copied[self._copies.get(self._rank, 0) :]:
            _set(owner, name, _copy_of(_names_of(owner)[name]))
        self._copies[self._rank] = count

    def _belongs(self, module: Any) -> bool:
        if type(module) is not str:
            return False
        known = self._belonging.get(module)
        if known is None:
            known = any(_is_in(module, name) for name in self._names)
            self._belonging[module] = known
        return known

    def _look_at_modules(self) -> None:
        """Watches the containers of modules that were not there before."""
        if not self._look.has_changed():
            return
        if self._states:  # modules of the rank alone are there, too
            self._look.forget()
        new = [
            (name, module) for name, module in list(sys.modules.items())
            if self._is_new(name, module) and not self._is_own(name, module)
        ]  # fmt: skip
        for found in containers([module for _, module in new], self._belongs):
            if self._contents.add(found):
                self._copied += [
                    (found, name) for name, value in _names_of(found).items()
                    if type(value) in _COPIED
                ]  # fmt: skip
        self._modules.update(new)
        if new:
            self._found = None

    def _is_new(self, name: str, module: Any) -> bool:
        return self._belongs(name) and self._modules.get(name) is not module

    def _is_own(self, name: str, module: Any) -> bool:
        return any(own.get(name) is module for own in self._states.values())

    def _keep_modules(self) -> None:
        """Notes the modules that the rank made without an import."""
        own = {
            name: module for name, module in list(sys.modules.items())
            if self._is_new(name, module)
        }  # fmt: skip
        if own or self._rank in self._states:
            self._states[self._rank] = own
        self._count = len(sys.modules)

    def _load_modules(self, rank: int) -> None:
        for name, module in self._states.get(self._rank, {}).items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        sys.modules.update(self._states.get(rank, {}))
        self._count = len(sys.modules)


def _names_of(container: Any) -> Any:
    if isinstance(container, (types.ModuleType, type)):
        return vars(container)
    return container if isinstance(container, dict) else {}


def _set(owner: Any, name: Any, value: Any) -> None:
    if isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _copy_of(value: Any) -> Any:
    if isinstance(value, torch.Generator):
        return torch.Generator(value.device).set_state(value.get_state())
    return copy.copy(value)


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


_packages = Packages()


def begin_run(names: Iterable[str]) -> Packages:
    """Begins a run in which these packages, and the known ones, are each rank's own."""
    _packages.begin(names)
    return _packages


def belongs(module: str) -> bool:
    """True for a module of which each rank of this run has its own contents."""
    return _packages._belongs(module)


def isolated() -> list[str]:
    """The packages that are isolated in this run and that are imported."""
    return _packages.found()


def isolated_here() -> list[str]:
    """The packages that are isolated in this run and of which this process, a rank's, has
    modules.
    """
    return _packages.found_in(list(sys.modules))


def is_importing() -> bool:
    """True while the rank that has the turn imports a module."""
    return _packages.is_importing()


def install(patches: Patches) -> None:
    """Lets modules that ranks import be the run's."""
    patches.around_in_ranks(bootstrap, "_find_and_load", _import)
    patches.at_end(_packages.end)


def _import(load: Any, *arguments: Any) -> Any:
    return _packages.imports(load, *arguments)


def _is_there(name: str) -> bool:
    """True if Python finds a package or module."""
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def check(names: Iterable[str]) -> None:
    """Raises ValueError for a name that Python doesn't find and that is near one that it finds."""
    for name in names:
        if not _is_there(name) and (found := near_names.near(name, near_names.packages())):
            raise ValueError(
                f"[torch/isolation] isolate: expected a package or module, got {name!r}, which "
                f"Python doesn't find{near_names.hint(found)}"
            )


def check_all_were_there(names: Iterable[str], isolated: Iterable[str]) -> None:
    """Raises ValueError for a name that Python doesn't find and of which no rank made a module, as
    those did that were ``isolated`` in the run.
    """
    made = set(isolated)
    missing = [name for name in names if not _is_there(name) and name not in made]
    if missing:
        raise ValueError(
            f"[torch/isolation] isolate: expected packages or modules, got {missing}, which Python "
            "doesn't find, and which no rank made"
        )


def is_package(entry: str | tuple[Any, str]) -> bool:
    """True if an entry of ``isolate`` names a package or a module, and no attribute."""
    if not isinstance(entry, str):
        return False
    return "." not in entry or _is_there(entry)
