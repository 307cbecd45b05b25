"""Keeps DTensor's results for sharding strategies, for a thread, from run to run.

Deriving them anew takes longer than all the rest of a small run. They refer to the meshes of the
run that derived them. A rank that makes an equal mesh therefore gets the same object again, as if
the results were its own.
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from simmesh import _core
from simmesh.torch.isolation import packages
from simmesh.torch.isolation.namespace_version import version_readers
from simmesh.torch.isolation.patches import Patches

_propagator: Any = DTensor._op_dispatcher.sharding_propagator


class _Strategies:
    """The registered strategies at the last look, and the number of their changes."""

    def __init__(self) -> None:
        self.registered: list[dict[Any, Any]] = []
        self.changes = 0
        self._registries: list[dict[Any, Any]] = []
        self._versions: Any = None
        self._seen: list[int] | None = None
        # The strategies of modules that ranks imported, by registry.
        self.imported: list[dict[Any, Any]] = []
        self.imports = 0

    def look(self) -> bool:
        """True if the strategies differ from those of the last look."""
        registries = self.registries()
        if not _are_identical(registries, self._registries):
            self._registries, self._versions = registries, version_readers(registries)
            self._seen = None
        seen = None if self._versions is None else [version.value for version in self._versions]
        if seen is not None and seen == self._seen:
            return False
        self._seen = seen
        if registries == self.registered:
            return False
        self.registered = [registered.copy() for registered in registries]
        self.changes += 1
        return True

    def keep(self, before: list[dict[Any, Any]]) -> None:
        """Keeps what was registered since there were these, beyond the run."""
        self.imports += 1
        self.imported = self.imported or [{} for _ in before]
        for kept, earlier, registered in zip(self.imported, before, self.registries()):
            kept.update(
                (key, value) for key, value in registered.items()
                if key not in earlier or earlier[key] is not value
            )  # fmt: skip

    @staticmethod
    def registries() -> list[dict[Any, Any]]:
        """Returns the places where the strategies are registered."""
        return [
            value
            for name, value in vars(_propagator).items()
            if name.startswith("op_") and isinstance(value, dict)
        ]


def _are_identical(these: list[Any], those: list[Any]) -> bool:
    return len(these) == len(those) and all(map(operator.is_, these, those))


_strategies = _Strategies()


class _Made:
    """A mesh that a rank made, while something refers to it."""

    def __init__(self, mesh: DeviceMesh, arguments: Any) -> None:
        self.mesh = weakref.ref(mesh)
        self.arguments = arguments
        self.hash = hash(mesh)
        self.coordinate = getattr(mesh, "_coordinate_on_dim", None)
        self.is_present = True


class _Derived(threading.local):
    """The meshes that this thread's caches may refer to, in the order in which they were made."""

    def __init__(self) -> None:
        self.strategies = -1
        self.imports = 0
        self.present: list[_Made] = []
        self.earlier: list[_Made] = []
        self.taken: dict[int, _Made] = {}

    def begin_run(self) -> None:
        self.earlier = [made for made in (*self.present, *self.earlier) if made.mesh() is not None]
        self.present = []
        for made in self.earlier:
            made.is_present = False
        if self.strategies != _strategies.changes:
            self.strategies = _strategies.changes
            self.forget()

    def again(self, arguments: Any) -> DeviceMesh | None:
        """Returns an earlier run's object with these arguments, if there is one."""
        for made in self.earlier:
            mesh = made.mesh()
            if made.arguments == arguments and mesh is not None:
                self.earlier.remove(made)
                self.taken[id(mesh)] = made
                mesh.__dict__ = {}
                return mesh
        return None

    def add(self, mesh: DeviceMesh, arguments: Any) -> None:
        """Lets the equal meshes of earlier runs be this one until they are made again."""
        new = _Made(mesh, arguments)
        self.present.append(new)
        taken = self.taken.pop(id(mesh), new)
        equal = [
            made for made in self.earlier
            if not made.is_present and made.hash == new.hash and made.mesh() == mesh
        ]  # fmt: skip
        # With another coordinate, uneven shards have other sizes.
        if taken.hash != new.hash or any(m.coordinate != new.coordinate for m in (taken, *equal)):
            self.forget()
            return
        for made in equal:
            made.is_present = True
            made.mesh().__dict__ = mesh.__dict__  # type: ignore[union-attr]

    def forget(self) -> None:
        """Empties the caches."""
        self.earlier = []
        self.taken = {}
        _propagator.propagate_op_sharding.cache.cache_clear()
        torch._C._clear_DTensor_sharding_propagator_cache()


_derived = _Derived()


def begin_run() -> None:
    """Prepares the caches of this thread for the next run. Called on a rank's thread."""
    _derived.begin_run()


def enter() -> None:
    """Forgets what this thread derived before a module that another rank imported registered its
    strategies. Called on the thread that gets the turn.
    """
    if _derived.imports != _strategies.imports:
        _derived.imports = _strategies.imports
        _derived.forget()


def install(patches: Patches) -> None:
    """Watches which meshes ranks make, and which strategies they register."""
    if "__new__" not in vars(DeviceMesh):
        # Stays, because Python doesn't give a class back the __new__ that it had inherited.
        DeviceMesh.__new__ = _new  # type: ignore[assignment]
    patches.replace(DeviceMesh, "__init__", _adding(DeviceMesh.__init__, _comparable))
    patches.replace(DeviceMesh, "__setstate__", _adding(DeviceMesh.__setstate__, _never_equal))
    kind = type(_propagator)
    for name in [name for name in vars(kind) if name.startswith("register_")]:
        patches.replace(kind, name, _registering(getattr(kind, name)))


@contextmanager
def own_strategies() -> Iterator[None]:
    """Lets a run's ranks register strategies for operators; after the run they are forgotten, but
    for those of modules that a rank imported: Python won't import these again.
    """
    _strategies.look()
    _strategies.imported = []
    before = _strategies.registered
    try:
        yield
    finally:
        if _strategies.look():
            for registered, earlier in zip(_strategies.registries(), before):
                registered.clear()
                registered.update(earlier)
            for registered, kept in zip(_strategies.registries(), _strategies.imported):
                registered.update(kept)
            _strategies.look()


def _new(kind: type[DeviceMesh], *arguments: Any, **options: Any) -> DeviceMesh:
    again = None
    if _core.rank() is not None and (arguments or options):
        again = _derived.again(_comparable(kind, arguments, options))
    return again if again is not None else object.__new__(kind)


def _adding(original: Callable[..., None], words: Callable[..., Any]) -> Callable[..., None]:
    def adding(self: DeviceMesh, *arguments: Any, **options: Any) -> None:
        if _core.rank() is None:
            original(self, *arguments, **options)
            return
        try:
            original(self, *arguments, **options)
        except BaseException:
            _derived.forget()
            raise
        _derived.add(self, words(type(self), arguments, options))

    return adding


def _registering(original: Callable[..., Any]) -> Callable[..., Any]:
    def registering(*arguments: Any, **options: Any) -> Any:
        _derived.forget()
        # A rank's strategies are its own, so no look after the run finds them. What the rank's
        # thread derives from now on is forgotten when the next run begins.
        _strategies.changes += 1
        if _core.rank() is None or not packages.is_importing():
            return original(*arguments, **options)
        before = [registered.copy() for registered in _strategies.registries()]
        result = original(*arguments, **options)
        _strategies.keep(before)
        return result

    return registering


def _comparable(kind: type[DeviceMesh], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    named = {name: _plain(value) for name, value in options.items() if name != "_root_mesh"}
    return kind, [_plain(value) for value in arguments], named


def _never_equal(
    kind: type[DeviceMesh], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    return object()


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
