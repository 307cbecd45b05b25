"""Elements of parameters that an optimizer stepped by rounding errors.

An optimizer may make steps of any size of a gradient that has nothing but rounding errors: Adam's
first step is its learning rate in the direction of their signs. What is computed from such an
element differs by any amount. To be judged nevertheless, it is compared with one device that goes
on from the elements that the ranks have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import _disable_current_modes

from simmesh.one_device.flat_parameters import FlatTensor

if TYPE_CHECKING:
    from simmesh.one_device.nearest import Nearest
    from simmesh.one_device.notebook import Key


@dataclass(frozen=True)
class Taken:
    """Elements of a parameter that one device takes from the ranks: where, in row-major order, and
    the ranks' elements of the whole parameter.
    """

    where: torch.Tensor
    elements: torch.Tensor

    def give(self, value: Any) -> None:
        """Writes the elements into a parameter of one device, which has all of it."""
        if isinstance(value, FlatTensor):
            value = value.piece
        elif isinstance(value, DTensor):
            value = value._local_tensor
        if not isinstance(value, torch.Tensor) or value.numel() > len(self.where):
            return
        count = value.numel()  # the ranks' may have zeros behind it, which fill up their pieces
        with torch.no_grad(), _disable_current_modes():
            own = value.detach()
            where = self.where[:count].view(own.shape)
            own.copy_(torch.where(where, self.elements[:count].view(own.shape).to(own.dtype), own))


@dataclass
class RoundingSteps:
    """The elements of each parameter whose gradient has had nothing but rounding errors in some
    step, by the parameter's name, and what one device takes of the ranks' parameters.
    """

    taken: dict[Key, Taken] = field(default_factory=dict)
    _where: dict[str, torch.Tensor] = field(default_factory=dict)

    def note_gradient(self, name: str, near: Nearest, largest: float) -> None:
        """Notes a gradient that differs by rounding. Elements that differ by more than ``largest``
        of themselves have little else.
        """
        expected = near.one.to(torch.float64)
        where = (expected - near.whole).abs() > largest * expected.abs()
        before = self._where.get(name)
        self._where[name] = where if before is None else before | where

    def told(self, name: str, elements: torch.Tensor) -> torch.Tensor:
        """The elements of a parameter whose steps tell something, as bools."""
        where = self._where.get(name)
        if where is None or len(where) != len(elements):
            return torch.ones_like(elements, dtype=torch.bool)
        return ~where

    def note_parameter(self, key: Key, near: Nearest, mixes: bool) -> None:
        """Notes a parameter that differs since its gradients do. ``mixes`` says that the optimizer
        multiplies matrices, so that rounding errors of an element step others, too.
        """
        where = self._where.get(key.name)
        if where is not None and mixes:
            where = torch.ones_like(where)
        if where is not None and len(where) == len(near.whole) and bool(where.any()):
            self.taken[key] = Taken(where, near.whole)

    def news(self, known: Mapping[Key, Taken]) -> dict[Key, Taken]:
        """The elements that are taken in addition to those that are known."""
        return {key: each for key, each in self.taken.items() if key not in known}
