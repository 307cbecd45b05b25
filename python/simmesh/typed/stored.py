"""Types as they are kept on tensors, and as the C++ rules take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from simmesh import _core
from simmesh.typed.axes import CurrentMesh, MeshAxis, axis_of, current_mesh
from simmesh.typed.kinds import PartitionSpec, S, SpmdType, as_type, type_of_text

_TYPES = "_simmesh_types"
_CUTS = "_simmesh_cuts"

Types = dict[MeshAxis, str]
Cuts = tuple[tuple[MeshAxis, ...], ...]


def types_on(value: Any) -> Types | None:
    """The letters of a tensor by axis; None where it was never annotated."""
    return getattr(value, _TYPES, None)


def cuts_on(value: Any) -> Cuts:
    """The axes that cut each dim; empty where nothing is cut."""
    return getattr(value, _CUTS, ())


def keep(value: Any, types: Types | None, cuts: Cuts = ()) -> None:
    """Gives a tensor its types, and the cuts of the axes on which it is varying."""
    known = types or {}
    cuts = tuple(tuple(each for each in axes if known.get(each) == "V") for axes in cuts)
    setattr(value, _TYPES, types)
    setattr(value, _CUTS, cuts if any(cuts) else ())


def dual_types(types: Types) -> Types:
    """The letters of the gradient."""
    return {axis: _core.typed.dual(letter) for axis, letter in types.items()}


def has_type(tensor: torch.Tensor) -> bool:
    """True for a tensor that was annotated, even if no axis is known."""
    return types_on(tensor) is not None


def type_of(tensor: torch.Tensor, axis: Any = None) -> Any:
    """The types of a tensor by the names of axes, or its type on one axis (None without one).

    type_of(x)         # {"dp": S(0), "tp": R}
    type_of(x, "tp")   # R
    """
    types, cuts = types_on(tensor) or {}, cuts_on(tensor)
    full = {each: _full(letter, each, cuts) for each, letter in types.items()}
    if axis is not None:
        return full.get(axis_of(axis))
    naming = Naming([full])
    return {naming.name(each): full[each] for each in sorted(full, key=naming.name)}


def _full(letter: str, axis: MeshAxis, cuts: Cuts) -> SpmdType:
    for dim, axes in enumerate(cuts):
        if axis in axes:
            return S(dim)
    return type_of_text(letter)


def partition_spec_of(tensor: torch.Tensor) -> PartitionSpec | None:
    """The axes that cut each dim of a tensor, by name; None where nothing is cut."""
    cuts = cuts_on(tensor)
    if not cuts:
        return None
    naming = Naming([dict.fromkeys(axis for axes in cuts for axis in axes)])
    entries: list[Any] = []
    for axes in cuts:
        names = tuple(naming.name(axis) for axis in axes)
        entries.append(None if not names else names[0] if len(names) == 1 else names)
    return PartitionSpec(*entries)


class Naming:
    """The names of axes in one call: those of the current mesh, and else their own."""

    def __init__(self, axes: Iterable[Iterable[MeshAxis]] = ()) -> None:
        self.mesh = current_mesh()
        self._names: dict[MeshAxis, str] = {}
        self._axes: dict[str, MeshAxis] = {}
        for axis in self.mesh.tracked() if self.mesh is not None else ():
            self._add(axis)
        for group in axes:
            for axis in group:
                self._add(axis)

    def _add(self, axis: MeshAxis) -> None:
        if axis in self._names:
            return
        name = axis.name
        if name in self._axes:
            name = f"{name} {list(axis.ranks)}"
        self._names[axis], self._axes[name] = name, axis

    def name(self, axis: MeshAxis) -> str:
        """The name of an axis."""
        self._add(axis)
        return self._names[axis]

    def axis(self, name: str) -> MeshAxis:
        """The axis of a name."""
        return self._axes[name]

    def context(
        self, is_strict: bool, is_global: bool = False, only: frozenset[MeshAxis] | None = None
    ) -> _core.typed.Context:
        """All that a call is typed under; ``only`` names the axes that count, None for all."""
        mesh: CurrentMesh | None = self.mesh
        axes = mesh.tracked() if mesh is not None else list(self._names)
        counted = [axis for axis in axes if only is None or axis in only]
        others = [axis for axis in self._names if axis not in counted] if mesh is None else []
        sizes = [(self.name(axis), axis.size) for axis in [*counted, *others]]
        return _core.typed.Context(
            sizes, mesh is not None, is_strict, is_global, torch.is_grad_enabled()
        )

    def tensor(
        self, value: Any, only: frozenset[MeshAxis] | None = None, grad: bool | None = None
    ) -> _core.typed.Tensor:
        """A tensor as the rules take it, with the axes that count."""
        types, cuts = types_on(value), cuts_on(value)
        letters = None
        if types is not None:
            letters = {
                self.name(axis): letter for axis, letter in types.items()
                if only is None or axis in only
            }  # fmt: skip
        spec = [[self.name(axis) for axis in axes if only is None or axis in only] for axes in cuts]
        shape = list(value.shape) if isinstance(value, torch.Tensor) else []
        needs = getattr(value, "requires_grad", False) if grad is None else grad
        return _core.typed.Tensor(letters, spec, shape, needs)

    def types(self, found: _core.typed.Tensor) -> Types:
        """The types that the rules gave."""
        return {self.axis(name): letter for name, letter in (found.types or {}).items()}

    def cuts(self, found: _core.typed.Tensor) -> Cuts:
        """The cuts that the rules gave."""
        return tuple(tuple(self.axis(name) for name in names) for names in found.spec)


def stated(types: Any, dims: int) -> dict[MeshAxis, SpmdType]:
    """Types as a caller states them: a mapping of axes, or one type for all of the current mesh.

    Axes of one rank are left out, and negative dims count from the last. Raises SpmdTypeError for
    axes that share ranks.
    """
    if isinstance(types, Mapping):
        found = {axis_of(axis): as_type(value).on(dims) for axis, value in types.items()}
    else:
        mesh = current_mesh()
        if mesh is None:
            from simmesh.typed.refusal import SpmdTypeError

            raise SpmdTypeError(
                "[typed] assert_type: expected a current mesh for one type on all axes, got none"
            )
        found = dict.fromkeys(mesh.tracked(), as_type(types).on(dims))
    return {axis: value for axis, value in found.items() if axis.size > 1}


def require_orthogonal(axes: Iterable[MeshAxis]) -> None:
    """Raises SpmdTypeError for axes of which two share more than one rank."""
    every = list(axes)
    for at, one in enumerate(every):
        for other in every[at + 1 :]:
            if len(set(one.offsets) & set(other.offsets)) > 1:
                from simmesh.typed.refusal import SpmdTypeError

                raise SpmdTypeError(
                    f"[typed] {_core.call_site()}: expected axes that share no ranks, got "
                    f"{one.name} {list(one.ranks)} and {other.name} {list(other.ranks)}",
                    code="not_orthogonal", line=_core.call_site(),
                )  # fmt: skip
