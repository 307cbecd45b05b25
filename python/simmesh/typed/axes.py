"""The axes of a mesh, and the current mesh of a rank."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Union

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh


@dataclass(frozen=True, eq=False)
class MeshAxis:
    """A set of ranks along which types are stated.

    Axes are equal if their ranks lie alike, whatever their names are. ``ranks`` are those of the
    group in which this rank is.
    """

    name: str
    ranks: tuple[int, ...]
    group: Any = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.ranks)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The ranks, counted from the first."""
        first = min(self.ranks)
        return tuple(sorted(rank - first for rank in self.ranks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshAxis) and self.offsets == other.offsets

    def __hash__(self) -> int:
        return hash(self.offsets)


AnyAxis = Union[str, MeshAxis, DeviceMesh, Any]


@dataclass(frozen=True)
class CurrentMesh:
    """The axes by name, outermost first. ``local`` names those that stay local in global checking;
    ``mesh`` is the DeviceMesh, if it was one.
    """

    axes: dict[str, MeshAxis]
    local: frozenset[MeshAxis] = frozenset()
    mesh: DeviceMesh | None = None

    def tracked(self) -> list[MeshAxis]:
        """The axes of more than one rank."""
        return [axis for axis in self.axes.values() if axis.size > 1]


class _Meshes(threading.local):
    def __init__(self) -> None:
        self.stack: list[CurrentMesh] = []
        self.names: dict[MeshAxis, str] = {}


_meshes = _Meshes()


def current_mesh() -> CurrentMesh | None:
    """The current mesh of this rank, if one is set."""
    return _meshes.stack[-1] if _meshes.stack else None


@contextmanager
def set_current_mesh(
    mesh: DeviceMesh | Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    local_axes: Sequence[AnyAxis] = (),
) -> Iterator[CurrentMesh]:
    """Makes a mesh the current one: operands must have a type on each of its axes.

    Args:
        mesh: a DeviceMesh with names; a mapping of names to axes or process groups, or to 1 on one
            device without a process group; a sequence of process groups; None for the current mesh
            again.
        local_axes: axes, the outermost ones, on which global checking stays local.
    """
    made = _mesh_of(mesh)
    _meshes.names |= {axis: name for name, axis in made.axes.items() if axis.size > 1}
    _meshes.stack.append(made)
    try:
        if local_axes:
            local = [axis_of(each) for each in local_axes]
            _require_outermost(local, made)
            made = CurrentMesh(made.axes, frozenset(local), made.mesh)
            _meshes.stack[-1] = made
        yield made
    finally:
        _meshes.stack.pop()


def _mesh_of(mesh: Any) -> CurrentMesh:
    if mesh is None:
        current = current_mesh()
        if current is None:
            raise RuntimeError(
                "[typed] set_current_mesh: expected a mesh, since none is the current one"
            )
        return CurrentMesh(current.axes, frozenset(), current.mesh)
    if isinstance(mesh, DeviceMesh):
        if not mesh.mesh_dim_names:
            raise ValueError("[typed] set_current_mesh: expected a mesh with names of its dims")
        axes = {name: _of_group(mesh.get_group(name), name) for name in mesh.mesh_dim_names}
        return CurrentMesh(axes, mesh=mesh)
    if isinstance(mesh, Mapping):
        return CurrentMesh({name: _named(name, each) for name, each in mesh.items()})
    made = [axis_of(each) for each in mesh]
    return CurrentMesh({axis.name: axis for axis in made})


def _named(name: str, value: Any) -> MeshAxis:
    if value == 1:
        return MeshAxis(name, (dist.get_rank() if dist.is_initialized() else 0,))
    if isinstance(value, MeshAxis):
        return MeshAxis(name, value.ranks, value.group)
    return _of_group(value, name)


def _of_group(group: Any, name: str) -> MeshAxis:
    return MeshAxis(name, tuple(dist.get_process_group_ranks(group)), group)


def _require_outermost(local: list[MeshAxis], mesh: CurrentMesh) -> None:
    tracked = sorted(mesh.tracked(), key=lambda axis: -axis.offsets[1])
    chosen = {axis for axis in local if axis.size > 1}
    if set(tracked[: len(chosen)]) != chosen:
        names = ", ".join(axis.name for axis in tracked)
        raise ValueError(
            f"[typed] local_axes: expected the outermost axes of ({names}), got "
            f"({', '.join(axis.name for axis in local)})"
        )


def axis_of(axis: AnyAxis) -> MeshAxis:
    """The axis that a caller names: by its name in the current mesh, by a process group, by a mesh
    of one dim, or by several axes, over which it is one.

    Raises RuntimeError for a name that the current mesh lacks.
    """
    if isinstance(axis, MeshAxis):
        return axis
    if isinstance(axis, str):
        current = current_mesh()
        if current is None or axis not in current.axes:
            known = "none" if current is None else ", ".join(current.axes)
            raise RuntimeError(
                f"[typed] expected an axis of the current mesh ({known}), got {axis!r}"
            )
        return current.axes[axis]
    if isinstance(axis, DeviceMesh):
        return _known_or(_of_group(axis.get_group(), (axis.mesh_dim_names or ("mesh",))[0]))
    if isinstance(axis, (tuple, list)):
        return _flattened([axis_of(each) for each in axis])
    if hasattr(axis, "layout") and type(axis).__module__.startswith("spmd_types"):
        return _of_spmd_types(axis)
    described = str(getattr(axis, "group_desc", "") or "")
    made = _of_group(axis, "")
    name = described[5:] if described.startswith("mesh_") else f"ranks {list(made.ranks)}"
    return _known_or(MeshAxis(name, made.ranks, axis))


def _known_or(axis: MeshAxis) -> MeshAxis:
    """The axis of the current mesh that has these ranks, or the axis itself, by the name that a
    mesh before had for it.
    """
    current = current_mesh()
    if current is not None and axis.size > 1:
        for known in current.axes.values():
            if known == axis:
                return known if known.group is not None else axis
    return MeshAxis(_meshes.names.get(axis, axis.name), axis.ranks, axis.group)


def _flattened(parts: list[MeshAxis]) -> MeshAxis:
    if len(parts) == 1:
        return parts[0]
    current = current_mesh()
    mesh = None if current is None else current.mesh
    names = tuple(part.name for part in parts)
    if mesh is None or not set(names) <= set(mesh.mesh_dim_names or ()):
        raise RuntimeError(
            f"[typed] expected axes of a current DeviceMesh to flatten, got {', '.join(names)}"
        )
    flat = mesh[names]._flatten()
    return _of_group(flat.get_group(), "_".join(names))


def _of_spmd_types(axis: Any) -> MeshAxis:
    """An axis of the package spmd_types, which has no members: those of this rank."""
    offsets = sorted(axis.layout.all_ranks_from_zero())
    rank = dist.get_rank()
    members = _members(rank, offsets)
    return _known_or(MeshAxis(f"ranks {list(members)}", members))


def _members(rank: int, offsets: Sequence[int]) -> tuple[int, ...]:
    """The group of a rank along evenly laid ranks: those that begin at the least rank."""
    if len(offsets) == 1:
        return (rank,)
    stride, size = offsets[1], len(offsets)
    if list(offsets) == list(range(0, stride * size, stride)):
        first = rank - rank // stride % size * stride
    else:
        period = offsets[-1] + 1
        first = next(
            (rank - each for each in offsets if (rank - each) % period == 0), rank - offsets[0]
        )
    return tuple(first + offset for offset in offsets)


def parts_of(axis: MeshAxis, axes: Sequence[MeshAxis]) -> list[MeshAxis] | None:
    """The axis itself if it is among ``axes``, or those that together are it; None if neither."""
    if axis in axes:
        return [axis]
    inside = [each for each in axes if each.size > 1 and set(each.offsets) < set(axis.offsets)]
    sums = {0}
    for each in inside:
        sums = {one + other for one in sums for other in each.offsets}
    count = 1
    for each in inside:
        count *= each.size
    return inside if inside and sums == set(axis.offsets) and count == axis.size else None
