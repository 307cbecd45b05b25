"""Global names of modules whose values each rank has for itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

from simmesh import _core


class OwnNames:
    """Names whose values are always swapped. Each rank's first value is made from the host's."""

    def __init__(self) -> None:
        self._values = _core.NamedValues()
        self._makers: list[Callable[[Any], Any]] = []

    def add(
        self, namespace: dict[str, Any], names: Iterable[str], make: Callable[[Any], Any]
    ) -> None:
        """Adds the names that the namespace has. ``make`` gives a rank's first value."""
        for name in names:
            if name in namespace:
                self._values.add(namespace, name)
                self._makers.append(make)

    def fresh(self, rank: int) -> list[Any]:
        return [make(value) for make, value in zip(self._makers, self.save())]

    def save(self) -> list[Any]:
        return self._values.read()

    def load(self, state: list[Any]) -> None:
        self._values.write(state)
