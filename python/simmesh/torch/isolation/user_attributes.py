"""Attributes that a user lists because a program keeps state in them that each process has."""

from __future__ import annotations

import copy
import importlib
import pkgutil
import sys
from typing import Any

from simmesh.torch.isolation import near_names

_MISSING = object()


class ObjectAttribute:
    """One attribute of any object: what a user lists under ``isolate``. Each rank starts with a
    deep copy.
    """

    def __init__(self, owner: Any, name: str) -> None:
        if not hasattr(owner, name):
            raise AttributeError(
                f"[torch/isolation] isolate: expected an attribute of {owner!r}, got the name "
                f"{name}{near_names.hint(near_names.near(name, _names_in(owner)))}"
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


def _names_in(owner: Any) -> set[str]:
    """The attributes of an object, and the modules of a package."""
    folders = getattr(owner, "__path__", ())
    return {*dir(owner), *(each.name for each in pkgutil.iter_modules(folders))}


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
    top = parts[0]
    raise ValueError(
        f"[torch/isolation] isolate: expected module.attribute, got {entry!r}, of which Python "
        f"finds no module{near_names.hint(near_names.near(top, near_names.packages()))}"
    )
