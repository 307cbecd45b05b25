"""The collectives and conversions: each names the type that it takes and the one that it gives, and
has the backward pass that follows from the two.

``axis`` is the name of an axis of the current mesh, several names for one call over these axes as
one, a process group, or a mesh of one dim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from simmesh import _core
from simmesh.typed import state
from simmesh.typed.axes import MeshAxis, axis_of, parts_of
from simmesh.typed.dtypes import Dtypes, chosen
from simmesh.typed.kinds import AnyType, I, P, R, SpmdType, V, as_type, type_of_text
from simmesh.typed.movement import Conversion, Move
from simmesh.typed.refusal import refuse
from simmesh.typed.stored import Naming, cuts_on, keep, types_on


def all_reduce(
    x: torch.Tensor, axis: Any, *, src: AnyType = P, dst: AnyType, inplace: bool = False,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Adds up the terms of a sum: P to R or I. ``src=V`` says that varying tensors are terms.

    To R, the backward pass adds up the gradients too; to I it does nothing.
    """
    __tracebackhide__ = True
    return _call(
        all_reduce, x, axis, src=src, dst=dst, inplace=inplace, op_dtype=op_dtype,
        out_dtype=out_dtype, backward_options=backward_options,
    )  # fmt: skip


def all_gather(
    x: torch.Tensor, axis: Any, *, src: AnyType = V, dst: AnyType, gather_dim: int | None = None,
    split_sizes: Sequence[int] | None = None, op_dtype: torch.dtype | None = None,
    out_dtype: torch.dtype | None = None, backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Gives every rank all tensors: V to R or I stacks them along a new dim ``gather_dim``, S(d)
    concatenates them along dim d. ``split_sizes`` are the ranks' sizes of dim d.
    """
    __tracebackhide__ = True
    return _call(
        all_gather, x, axis, src=src, dst=dst, gather_dim=gather_dim, split_sizes=split_sizes,
        op_dtype=op_dtype, out_dtype=out_dtype, backward_options=backward_options,
    )  # fmt: skip


def reduce_scatter(
    x: torch.Tensor, axis: Any, *, src: AnyType = P, dst: AnyType = V,
    scatter_dim: int | None = None, split_sizes: Sequence[int] | None = None,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Adds up the terms of a sum, of which each rank gets its part: P to V takes dim
    ``scatter_dim`` apart, P to S(d) cuts dim d.
    """
    __tracebackhide__ = True
    return _call(
        reduce_scatter, x, axis, src=src, dst=dst, scatter_dim=scatter_dim,
        split_sizes=split_sizes, op_dtype=op_dtype, out_dtype=out_dtype,
        backward_options=backward_options,
    )  # fmt: skip


def all_to_all(
    x: torch.Tensor, axis: Any, *, src: AnyType = V, dst: AnyType = V,
    split_dim: int | None = None, concat_dim: int | None = None,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, op_dtype: torch.dtype | None = None,
    out_dtype: torch.dtype | None = None, backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Exchanges slices: V to V swaps the axis with a dim, S(i) to S(j) moves the cut."""
    __tracebackhide__ = True
    return _call(
        all_to_all, x, axis, src=src, dst=dst, split_dim=split_dim, concat_dim=concat_dim,
        output_split_sizes=output_split_sizes, input_split_sizes=input_split_sizes,
        op_dtype=op_dtype, out_dtype=out_dtype, backward_options=backward_options,
    )  # fmt: skip


def redistribute(
    x: torch.Tensor, axis: Any, *, src: AnyType, dst: AnyType,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Leads from one type to another by the collective or conversion that keeps the meaning."""
    __tracebackhide__ = True
    return _call(redistribute, x, axis, src=src, dst=dst, op_dtype=op_dtype, out_dtype=out_dtype,
                 backward_options=backward_options)  # fmt: skip


def convert(
    x: torch.Tensor, axis: Any, *, src: AnyType, dst: AnyType, expert_mode: bool = False,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Changes the type and keeps the meaning, without communication in the forward pass."""
    __tracebackhide__ = True
    return _call(convert, x, axis, src=src, dst=dst, expert_mode=expert_mode, op_dtype=op_dtype,
                 out_dtype=out_dtype, backward_options=backward_options)  # fmt: skip


def reinterpret(
    x: torch.Tensor, axis: Any, *, src: AnyType, dst: AnyType, expert_mode: bool = False,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Changes the type and keeps the elements, which may mean something else then."""
    __tracebackhide__ = True
    return _call(reinterpret, x, axis, src=src, dst=dst, expert_mode=expert_mode,
                 op_dtype=op_dtype, out_dtype=out_dtype,
                 backward_options=backward_options)  # fmt: skip


def shard(
    x: torch.Tensor, axis: Any, *, src: AnyType, dst: AnyType,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Takes the own piece of a tensor: ``convert`` to S(d)."""
    __tracebackhide__ = True
    return _call(shard, x, axis, src=src, dst=dst, op_dtype=op_dtype, out_dtype=out_dtype,
                 backward_options=backward_options)  # fmt: skip


def unshard(
    x: torch.Tensor, axis: Any, *, src: AnyType, dst: AnyType,
    op_dtype: torch.dtype | None = None, out_dtype: torch.dtype | None = None,
    backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Gathers the pieces of a tensor: ``all_gather`` from S(d)."""
    __tracebackhide__ = True
    return _call(unshard, x, axis, src=src, dst=dst, op_dtype=op_dtype, out_dtype=out_dtype,
                 backward_options=backward_options)  # fmt: skip


def invariant_to_replicate(
    x: torch.Tensor, axis: Any, *, op_dtype: torch.dtype | None = None,
    out_dtype: torch.dtype | None = None, backward_options: Mapping[str, Any] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Lets ranks use one computation's result differently: ``convert`` from I to R."""
    __tracebackhide__ = True
    return _call(invariant_to_replicate, x, axis, op_dtype=op_dtype, out_dtype=out_dtype,
                 backward_options=backward_options)  # fmt: skip


def _call(function: Any, x: torch.Tensor, axis: Any, **given: Any) -> torch.Tensor:
    """Lets modes see the call, and then runs it."""
    __tracebackhide__ = True
    if has_torch_function_unary(x):
        result: torch.Tensor = handle_torch_function(function, (x,), x, axis, **given)
        return result
    return _run(function.__name__, x, axis_of(axis), given)


def _run(op: str, x: torch.Tensor, axis: MeshAxis, given: Mapping[str, Any]) -> torch.Tensor:
    __tracebackhide__ = True
    src, dst = _ends(x, given)
    found = _resolved(op, src, dst, bool(given.get("expert_mode")))
    move = Move(found[0], type_of_text(found[1]), type_of_text(found[2]), axis, is_expert=True,
                is_in_place=bool(given.get("inplace")))  # fmt: skip
    if found[3]:
        return x
    move = _with_dims(move, given)
    calls = move.backward(x.shape)
    sums = bool(calls) and calls[0].op in ("all_reduce", "reduce_scatter")
    dtypes = Dtypes(given.get("op_dtype"), given.get("out_dtype"), given.get("backward_options"))
    dtypes = chosen(move.op, x, dtypes, sums and move.op != "reinterpret", move.is_in_place)
    result: torch.Tensor = Conversion.apply(x, replace(move, dtypes=dtypes))
    return result


def _ends(x: torch.Tensor, given: Mapping[str, Any]) -> tuple[SpmdType, SpmdType]:
    """The types that a call takes and gives: those of invariant_to_replicate are in its name."""
    src, dst = given.get("src", I), given.get("dst", R)
    return as_type(src).on(x.dim()), as_type(dst).on(x.dim())


def _resolved(op: str, src: SpmdType, dst: SpmdType, is_expert: bool) -> Any:
    __tracebackhide__ = True
    try:
        return _core.typed.resolve(op, repr(src), repr(dst), is_expert)
    except _core.typed.TypeRefusal as refusal:
        raise refuse(refusal, op, f", got src={src}, dst={dst}") from None


def _with_dims(move: Move, given: Mapping[str, Any]) -> Move:
    """The conversion with the dims and sizes that the caller names."""
    sizes = given.get("split_sizes")
    if sizes is not None:
        if (move.src if move.op == "all_gather" else move.dst).dim is None:
            raise ValueError(f"[typed] {move.op}: split_sizes are those of a shard, got V")
        move = replace(move, sizes=tuple(sizes))
    if move.op == "all_to_all":
        return _all_to_all(move, given)
    cut = _dim(move.op, "scatter_dim", move.dst, given)
    join = _dim(move.op, "gather_dim", move.src, given)
    return replace(move, cut=cut, join=join)


def _dim(op: str, key: str, of: SpmdType, given: Mapping[str, Any]) -> int:
    named = given.get(key)
    if of.dim is not None and named is not None and named != of.dim:
        raise ValueError(f"[typed] {op}: {key}: expected {of.dim}, as {of} says, got {named}")
    return of.dim if of.dim is not None else named or 0


def _all_to_all(move: Move, given: Mapping[str, Any]) -> Move:
    src, dst = move.src, move.dst
    both = src.dim is not None and dst.dim is not None
    cut = _dim("all_to_all", "split_dim", dst if both else src, given)
    join = _dim("all_to_all", "concat_dim", src if both else dst, given)
    inputs, outputs = given.get("input_split_sizes"), given.get("output_split_sizes")
    if (inputs is not None or outputs is not None) and (cut or join):
        raise ValueError(
            f"[typed] all_to_all: split sizes are those of S(0) to S(0), got {src} to {dst}"
        )
    return replace(
        move, cut=cut, join=join, sizes=None if inputs is None else tuple(inputs),
        joined_sizes=None if outputs is None else tuple(outputs),
    )  # fmt: skip


def _typed_call(function: Any, args: Sequence[Any], given: Mapping[str, Any]) -> torch.Tensor:
    """Types a call, and runs it. Raises before any rank communicates."""
    __tracebackhide__ = True
    x, axis = args[0], axis_of(args[1])
    op = function.__name__
    src, dst = _ends(x, given)
    is_expert, in_place = bool(given.get("expert_mode")), bool(given.get("inplace"))
    if axis.size == 1:
        _resolved(op, src, dst, is_expert)
        result: torch.Tensor = function(*args, **given)
        if types_on(x) is not None:
            keep(result, dict(types_on(x) or {}), _cuts_for(result, x))
        return result
    from simmesh.typed.checker import _retag

    _retag([x])
    types = types_on(x) or {}
    parts = parts_of(axis, list(types)) or [axis]
    followed = state.global_axes([*types, *parts])
    is_global = followed is not None and bool(followed & set(parts))
    if is_global and not set(parts) <= (followed or set()):
        from simmesh.typed.refusal import SpmdTypeError

        raise SpmdTypeError(
            f"[typed] {_core.call_site()}: {op}: expected an axis whose parts are all local or all "
            f"global, got {', '.join(each.name for each in parts)}",
            code="mixed_axes", op=op, line=_core.call_site(), axis=axis.name,
        )  # fmt: skip
    only = None if followed is None else followed if is_global else frozenset(types) - followed
    naming = Naming([types, parts])
    context = naming.context(state.is_strict(), is_global, only)
    names = [naming.name(each) for each in parts]
    try:
        found, _ = _core.typed.convert(
            op, repr(src), repr(dst), names, is_expert, in_place, naming.tensor(x, only), context
        )
    except _core.typed.TypeRefusal as refusal:
        details = f", got src={src}, dst={dst}"
        if refusal.args[1]:
            details = f" ({src} to {dst}), got {types.get(naming.axis(refusal.args[1]), 'none')}"
        raise refuse(refusal, op, details) from None
    result = function(*args, **given)
    kept = {} if only is None else {each: types[each] for each in types if each not in only}
    cuts = naming.cuts(found)
    keep(result, {**kept, **naming.types(found)}, cuts if len(cuts) == result.dim() else ())
    return result


def _cuts_for(result: torch.Tensor, x: torch.Tensor) -> Any:
    cuts = cuts_on(x)
    return cuts if len(cuts) == result.dim() else ()


_FUNCTIONS: tuple[Any, ...] = (
    all_reduce, all_gather, reduce_scatter, all_to_all, redistribute, convert, reinterpret, shard,
    unshard, invariant_to_replicate,
)  # fmt: skip
for _function in _FUNCTIONS:
    _function.simmesh_typed_call = _typed_call
