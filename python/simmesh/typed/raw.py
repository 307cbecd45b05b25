"""Calls of torch.distributed, whose operands are typed although they have no gradients."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch.distributed as dist

from simmesh import _core
from simmesh.typed import state
from simmesh.typed.axes import axis_of, parts_of
from simmesh.typed.refusal import SpmdTypeError, refuse
from simmesh.typed.stored import Naming, keep, types_on
from simmesh.typed.suggestions import described

# The typed functions by the name of their rule, with the parameters of input and output.
_TYPED = {
    "all_reduce": ("dist.all_reduce", "tensor", None),
    "all_gather": ("dist.all_gather", "tensor", "tensor_list"),
    "all_gather_into_tensor": ("dist.all_gather_into_tensor", "input_tensor", "output_tensor"),
    "all_gather_single": ("dist.all_gather_into_tensor", "input", "output"),
    "all_to_all_single": ("dist.all_to_all_single", "input", "output"),
    "reduce_scatter_tensor": ("dist.reduce_scatter_tensor", "input", "output"),
    "reduce_scatter_single": ("dist.reduce_scatter_tensor", "input", "output"),
}
_UNTYPED = frozenset({
    "all_gather_coalesced", "all_reduce_coalesced", "all_to_all", "broadcast", "gather",
    "gather_single", "reduce", "reduce_scatter", "scatter", "send", "recv", "isend", "irecv",
})  # fmt: skip


def is_raw(func: Any) -> bool:
    """True for a function of torch.distributed that communicates."""
    module = str(getattr(func, "__module__", ""))
    name = getattr(func, "__name__", "")
    return module.startswith("torch.distributed") and (name in _TYPED or name in _UNTYPED)


def run(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Types a call, and runs it. Raises SpmdTypeError for operands that don't fit it, and for a
    function that has no rule.
    """
    name = func.__name__
    if name in _UNTYPED:
        line = _core.call_site()
        raise SpmdTypeError(
            f"[typed] {line}: torch.distributed.{name} has no rule; use a collective of "
            "simmesh.typed, or no_typecheck with assert_type on what comes of it",
            code="no_rule", op=name, line=line,
        )  # fmt: skip
    given = inspect.signature(func).bind(*args, **kwargs).arguments
    rule, input_name, output_name = _TYPED[name]
    tensor = _argument(given, input_name)
    outputs = [] if output_name is None else _argument(given, output_name)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    if name == "all_reduce" and _operation(given) != dist.ReduceOp.SUM:
        line = _core.call_site()
        raise SpmdTypeError(
            f"[typed] {line}: torch.distributed.all_reduce: P stands for a sum, got "
            f"{_operation(given)}",
            code="not_sum", op=name, line=line,
        )  # fmt: skip
    axis = axis_of(given.get("group") or dist.group.WORLD)
    if axis.size > 1:
        _type(rule, tensor, outputs, axis)
    return func(*args, **kwargs)


def _argument(given: Mapping[str, Any], name: str) -> Any:
    """An argument by its name, or by the one that other releases of torch have for it."""
    return given[name] if name in given else given[f"{name}_tensor"]


def _operation(given: Mapping[str, Any]) -> Any:
    return given.get("op", dist.ReduceOp.SUM)


def _type(rule: str, tensor: Any, outputs: Sequence[Any], axis: Any) -> None:
    types = types_on(tensor) or {}
    parts = parts_of(axis, list(types)) or [axis]
    naming = Naming([types, parts, *((types_on(each) or {}) for each in outputs)])
    context = naming.context(state.is_strict())
    for part in parts:
        for output in outputs or [None]:
            given = [naming.tensor(each) for each in (tensor, output) if each is not None]
            try:
                found = _core.typed.raw_collective(rule, given, naming.name(part), context)
            except _core.typed.TypeRefusal as refusal:
                texts = described(naming, [tensor, *outputs])
                raise refuse(refusal, rule, texts) from None
            if output is None and types:
                keep(tensor, naming.types(found[0]), naming.cuts(found[0]))
