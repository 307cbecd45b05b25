"""The loggers of ranks: each rank has handlers, levels and filters of its own, as a process has."""

from __future__ import annotations

import functools
import logging
import weakref
from typing import Any

from simmesh import _core
from simmesh.torch.isolation.patches import Patches

_ATTRIBUTES = ("handlers", "filters", "level", "propagate", "disabled", "_cache")


class RankAttribute:
    """An attribute of each object of a class whose value every rank has for itself.

    A rank's first value is a copy of the host's. The host's values stay in the objects.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # By rank and object. A WeakKeyDictionary takes several times as long, for each message.
        self._values: dict[int, dict[weakref.ref[Any], Any]] = {}

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        rank = _core.rank()
        if rank is None:
            return self._of_host(owner)
        try:
            return self._values[rank][weakref.ref(owner)]
        except KeyError:
            own = _copied(self._of_host(owner))
            self._keep(rank, owner, own)
            return own

    def __set__(self, owner: Any, value: Any) -> None:
        rank = _core.rank()
        if rank is None:
            owner.__dict__[self._name] = value
            return
        # An object that a rank makes begins with the same values on the host.
        owner.__dict__.setdefault(self._name, _copied(value))
        self._keep(rank, owner, value)

    def _keep(self, rank: int, owner: Any, value: Any) -> None:
        forget = functools.partial(_forget, weakref.ref(self), rank)
        self._values.setdefault(rank, {})[weakref.ref(owner, forget)] = value

    def _of_host(self, owner: Any) -> Any:
        try:
            return owner.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None


class HandlerLists:
    """The lists of all handlers, which ``logging`` closes at the end of the process and before a
    new configuration.
    """

    _NAMES = ("_handlers", "_handlerList")

    def __init__(self) -> None:
        self._host_handlers = list(logging._handlerList)  # type: ignore[attr-defined]
        self._values = _core.NamedValues()
        for name in self._NAMES:
            self._values.add(vars(logging), name)

    def fresh(self, rank: int) -> list[Any]:
        return [value.copy() for value in self.save()]

    def save(self) -> list[Any]:
        return self._values.read()

    def load(self, state: list[Any]) -> None:
        self._values.write(state)

    def close(self, states: list[list[Any]]) -> None:
        """Flushes and closes the handlers that ranks made, as the ends of their processes would."""
        host = self._host_handlers
        known = set(map(id, host))  # a comparison of references asks the handlers
        for _, handlers in states:
            logging.shutdown(
                [each for each in handlers if id(each) not in known and each not in host]
            )


def install(patches: Patches) -> None:
    """Gives each rank its own values of what a program sets on loggers."""
    for name in _ATTRIBUTES:
        patches.replace(logging.Logger, name, RankAttribute(name))
    patches.replace(logging.Manager, "_disable", RankAttribute("_disable"))


# Refers to the attribute weakly, so that it ends with the run without a search for cycles.
def _forget(attribute: weakref.ref[RankAttribute], rank: int, gone: weakref.ref[Any]) -> None:
    of = attribute()
    if of is not None:
        of._values[rank].pop(gone, None)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {}  # a cache of levels
    return value.copy() if isinstance(value, list) else value
