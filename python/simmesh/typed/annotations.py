"""Calls that state types: assert_type, mutate_type, and their kin."""

from __future__ import annotations

from typing import Any

import torch

from simmesh import _core
from simmesh.typed import stored
from simmesh.typed.axes import MeshAxis, axis_of, current_mesh
from simmesh.typed.kinds import AnyType, PartitionSpec, S, SpmdType, as_type
from simmesh.typed.recorder import current_recorder
from simmesh.typed.refusal import SpmdTypeError, refuse
from simmesh.typed.stored import Naming, Types, cuts_on, keep, require_orthogonal, types_on


def assert_type(tensor: Any, type: Any, partition_spec: Any = None) -> Any:
    """States the types of a tensor, or checks those that it has; returns it.

    assert_type(x, {"dp": S(0), "tp": R})
    assert_type(x, {"dp": V, "tp": R}, PartitionSpec("dp", None))
    assert_type(x, R)   # on every axis of the current mesh

    A varying tensor may be stated to be a shard, or the terms of a sum. A list or tuple of tensors
    gets the types on each. Raises SpmdTypeError where the types differ.
    """
    if isinstance(tensor, (list, tuple)):
        return tensor.__class__([assert_type(each, type, partition_spec) for each in tensor])
    __tracebackhide__ = True
    _before_stating()
    if isinstance(type, PartitionSpec) and partition_spec is None:
        type, partition_spec = {}, type
    given = stored.stated(type, tensor.dim())
    if partition_spec is not None:
        if any(each.dim is not None for each in given.values()):
            raise _refused("spec_conflict", "expected S(d) or a partition spec, got both")
        _state_cuts(tensor, given, _cuts_of(partition_spec, tensor.dim()))
        return _stated(tensor)
    _require_order(tensor, given)
    naming = Naming([types_on(tensor) or {}, given])
    texts = {naming.name(axis): repr(each) for axis, each in given.items()}
    _take(tensor, naming, lambda: _core.typed.assert_type(naming.tensor(tensor), texts), texts)
    if types_on(tensor) is None:
        keep(tensor, {})
    return _stated(tensor)


def _before_stating() -> None:
    """Lets the recorder read the types that tensors have so far."""
    recorder = current_recorder()
    if recorder is not None:
        recorder.settle()


def _stated(tensor: Any) -> Any:
    from simmesh.typed.gradients import type_gradient_of

    require_orthogonal(types_on(tensor) or {})
    type_gradient_of(tensor)
    _note_stated(tensor)
    return tensor


def _note_stated(tensor: Any) -> None:
    recorder = current_recorder()
    if recorder is not None:
        recorder.stated(tensor)


def _take(tensor: Any, naming: Naming, call: Any, texts: Any, op: str = "assert_type") -> None:
    __tracebackhide__ = True
    try:
        found = call()
    except _core.typed.TypeRefusal as refusal:
        axis = refusal.args[1]
        own = stored.type_of(tensor, naming.axis(axis)) if axis else None
        details = f": the tensor has {own}, stated is {texts.get(axis)}" if axis else ""
        raise refuse(refusal, op, details) from None
    keep(tensor, naming.types(found), naming.cuts(found))


def _refused(code: str, text: str) -> SpmdTypeError:
    line = _core.call_site()
    return SpmdTypeError(f"[typed] {line}: assert_type: {text}", code=code, op="assert_type",
                         line=line)  # fmt: skip


def _cuts_of(spec: Any, dims: int) -> stored.Cuts:
    if len(spec) != dims:
        raise _refused("spec_conflict", f"expected an entry for each of {dims} dims, got {spec!r}")
    cuts = []
    for entry in spec:
        axes = () if entry is None else entry if isinstance(entry, (tuple, list)) else (entry,)
        cuts.append(tuple(each for each in map(axis_of, axes) if each.size > 1))
    return tuple(cuts)


def _state_cuts(tensor: Any, given: dict[MeshAxis, SpmdType], cuts: stored.Cuts) -> None:
    """States plain types and the cuts of varying axes."""
    types: Types = dict(types_on(tensor) or {})
    old = cuts_on(tensor)
    for dim, axes in enumerate(cuts):
        for axis in axes:
            letter = given.get(axis, S(dim)).letter
            if letter != "V" or types.get(axis, "V") != "V":
                raise _refused(
                    "type_mismatch",
                    f"SPMD type mismatch on axis {axis.name}: a cut is varying, got "
                    f"{types.get(axis, letter)}",
                )
            types[axis] = "V"
        if old and old[dim] and old[dim] != axes:
            raise _refused("spec_conflict", f"PartitionSpec conflict in dim {dim}")
    plain = {axis: each for axis, each in given.items() if each.letter != "V" or axis not in types}
    naming = Naming([types, plain])
    texts = {naming.name(axis): repr(each) for axis, each in plain.items()}
    _take(tensor, naming, lambda: _core.typed.assert_type(naming.tensor(tensor), texts), texts)
    keep(tensor, {**(types_on(tensor) or {}), **types}, cuts if any(cuts) else old)


def _require_order(tensor: Any, given: dict[MeshAxis, SpmdType]) -> None:
    """Raises for a second axis that cuts a dim without a partition spec: the order isn't known."""
    cuts = cuts_on(tensor)
    dims = [(each.dim, axis) for axis, each in given.items() if each.dim is not None]
    for dim, axis in dims:
        if dim >= tensor.dim():
            raise ValueError(
                f"[typed] assert_type: expected a dim below {tensor.dim()}, got S({dim})"
            )
        others = [each for of, each in dims if of == dim and each != axis]
        if cuts:
            others += [each for each in cuts[dim] if each != axis and axis not in cuts[dim]]
        if others:
            raise _refused(
                "spec_conflict",
                f"PartitionSpec conflict: {axis.name} and {others[0].name} cut dim {dim}, in an "
                "order that a partition spec must state",
            )


def assert_type_like(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """States that a tensor has the types and cuts of another; returns it."""
    types = {axis: as_type(letter) for axis, letter in (types_on(other) or {}).items()}
    cuts = cuts_on(other)
    if cuts:
        return assert_type(tensor, types, PartitionSpec(*cuts))
    return assert_type(tensor, types)


def mutate_type(tensor: torch.Tensor, axis: Any, *, src: AnyType, dst: AnyType) -> torch.Tensor:
    """Replaces the type of a tensor on an axis, which must be ``src``; returns the tensor."""
    __tracebackhide__ = True
    _before_stating()
    of, texts = axis_of(axis), (repr(as_type(src)), repr(as_type(dst).on(tensor.dim())))
    if of.size == 1:
        return tensor
    naming = Naming([types_on(tensor) or {}, [of]])
    name = naming.name(of)
    _take(
        tensor, naming,
        lambda: _core.typed.mutate_type(naming.tensor(tensor), name, *texts), {name: texts[0]},
        "mutate_type",
    )  # fmt: skip
    _note_stated(tensor)
    return tensor


def reinterpret_no_grad(tensor: torch.Tensor, axis: Any, *, dst: AnyType) -> torch.Tensor:
    """Turns R into I or I into R on a tensor that needs no gradient; returns the tensor."""
    __tracebackhide__ = True
    _before_stating()
    of = axis_of(axis)
    if of.size == 1:
        return tensor
    naming = Naming([types_on(tensor) or {}, [of]])
    name, text = naming.name(of), repr(as_type(dst))
    _take(
        tensor, naming,
        lambda: _core.typed.reinterpret_no_grad(naming.tensor(tensor), name, text), {name: text},
        "reinterpret_no_grad",
    )  # fmt: skip
    return tensor


def reinterpret_mesh(tensor: torch.Tensor) -> torch.Tensor:
    """Gives a tensor the axes of the current mesh where its own axes are the same ranks in other
    groups of one type; returns the tensor.
    """
    types, mesh = types_on(tensor), current_mesh()
    if types and mesh is not None:
        keep(tensor, retagged(types, mesh.tracked()), cuts_on(tensor))
    return tensor


def retagged(types: Types, axes: list[MeshAxis]) -> Types:
    """Types on axes of another presentation of the same ranks, where they can be told."""
    from simmesh.typed.axes import parts_of

    found = {axis: letter for axis, letter in types.items() if axis in axes}
    for axis in axes:
        if axis in found:
            continue
        parts = parts_of(axis, [each for each in types if each not in axes])
        if parts is not None and len({types[each] for each in parts}) == 1:
            found[axis] = types[parts[0]]
    for axis, letter in types.items():
        if axis in axes:
            continue
        parts = parts_of(axis, [each for each in axes if each not in found])
        if parts is not None:
            found |= dict.fromkeys(parts, letter)
        elif not any(set(each.offsets) & set(axis.offsets) - {0} for each in found):
            found[axis] = letter
    return found
