"""The forms of operators that write into an operand or into ``out``, that work on lists of tensors,
and those that torch composes of other operators.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from simmesh.torch.exact import complex_numbers, tables
from simmesh.torch.exact.companions import scope
from simmesh.torch.exact.dispatch import in_mode, is_wide
from simmesh.torch.exact.movement import assign
from simmesh.torch.exact.tables import Entry, Handler, Operator


@tables.rule
def _in_place(operator: Operator) -> Entry | None:
    """``name_`` computes ``name`` and copies the result into its first operand."""
    packet, _, overload = tables.name_of(operator).partition(".")
    if not packet.endswith("_") or packet.startswith("_foreach_"):
        return None
    functional = _overload(packet[:-1], overload or "default")
    return None if functional is None else _derived(functional, _writes_first)


@tables.out_rule
def _out(operator: Operator) -> Entry | None:
    """``name.out`` computes the overload with the same operands and copies the results."""
    functional = without_out(operator)
    return None if functional is None else _derived(functional, write_out)


def _derived(functional: Operator, form: Any) -> Entry | None:
    entry = tables.entry_of(functional)
    if entry is None or entry.kind in ("safe", "refused"):
        return entry
    assert entry.handler is not None
    handler: Handler = functools.partial(form, functional, entry.handler)
    return Entry(entry.kind, entry.family, entry.reason, handler)


def _writes_first(functional: Operator, handler: Handler, func: Operator, args: tuple[Any, ...],
                  options: dict[str, Any]) -> Any:  # fmt: skip
    result = handler(functional, args, options)
    _move(args[0], result)
    return args[0]


def write_out(functional: Operator, handler: Handler, func: Operator, args: tuple[Any, ...],
              options: dict[str, Any]) -> Any:  # fmt: skip
    """Computes the form that returns its results, and moves them into ``out``."""
    names = [each.name for each in func._schema.arguments if each.is_out]
    given = [options[name] for name in names]
    rest = {name: each for name, each in options.items() if name not in names}
    found = handler(functional, args, rest)
    results = [found] if isinstance(found, torch.Tensor) else list(found)
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = list(given[0])
    for target, result in zip(given, results):
        if target.shape != result.shape:
            target.resize_(result.shape)
        _move(target, result)
    if not func._schema.returns:
        return None
    return given[0] if len(names) == 1 else tuple(given)


def _move(target: torch.Tensor, result: torch.Tensor) -> None:
    target.copy_(result)
    if target.dtype.is_complex:
        complex_numbers.assign_parts(target, result)
    else:
        assign(target, result)


def _overload(packet: str, overload: str) -> Operator | None:
    namespace = torch.ops.aten
    if not hasattr(namespace, packet):
        return None
    found = getattr(namespace, packet)
    return getattr(found, overload) if overload in found.overloads() else None


def without_out(operator: Operator) -> Operator | None:
    """The form that returns what an operator writes into ``out``; None where there is none."""
    packet = tables.packet_of(operator)
    wanted = [(each.name, str(each.type)) for each in operator._schema.arguments if not each.is_out]
    if not hasattr(torch.ops.aten, packet):
        return None
    candidates = getattr(torch.ops.aten, packet)
    for name in candidates.overloads():
        overload = getattr(candidates, name)
        if [(each.name, str(each.type)) for each in overload._schema.arguments] == wanted:
            return overload
    return None


@tables.rule
def _composite(operator: Operator) -> Entry | None:
    """torch composes the operator of others, which come to the mode in turn."""
    if tables.is_composite(operator):
        return Entry("composed", "compositions", handler=_decomposed)
    return None


def _decomposed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return in_mode(func.decompose, *args, **options)


# The operators on lists that write one tensor after the other.
_LISTED = tables.words(
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min clone cos cosh div erf erfc "
    "exp expm1 floor frac lerp lgamma log log10 log1p log2 maximum minimum mul neg norm pow "
    "reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc max mm powsum copy zero"
)
_SAFE_IN_STEPS = _LISTED - {"norm", "powsum", "mm", "pow", "tanh", "sigmoid"}

# New results of these keep exact values in an optimizer's step.
_LINEAR = frozenset(("add", "sub", "mul", "neg", "div"))


@tables.rule
def _listed(operator: Operator) -> Entry | None:
    packet = tables.packet_of(operator)
    if not packet.startswith("_foreach_"):
        return None
    base = packet.removeprefix("_foreach_").removesuffix("_")
    if base not in _LISTED or tables.name_of(operator).endswith("out"):
        return None
    return Entry("composed", "lists", handler=functools.partial(_each, base, packet.endswith("_")))


def _each(base: str, is_in_place: bool, func: Operator, args: tuple[Any, ...],
          options: dict[str, Any]) -> Any:  # fmt: skip
    """Calls the operator for each tensor of a list."""
    is_safe = base in _SAFE_IN_STEPS and (is_in_place or base not in _LINEAR)
    if scope.steps and is_safe and all(is_wide(each) for each in args[0]):
        return func(*args, **options)
    names = [each.name for each in func._schema.arguments]
    given = {**dict(zip(names, args)), **options}
    tensors = given.pop(names[0])
    results = in_mode(_call_each, base, is_in_place, tensors, given)
    return None if is_in_place else results


def _call_each(base: str, is_in_place: bool, tensors: Any, given: dict[str, Any]) -> list[Any]:
    return [
        _call(base, is_in_place, tensor, _of_one(given, index))
        for index, tensor in enumerate(tensors)
    ]


def _of_one(given: dict[str, Any], index: int) -> dict[str, Any]:
    return {
        name: value[index] if isinstance(value, (list, tuple)) else value
        for name, value in given.items()
    }


def _call(base: str, is_in_place: bool, tensor: torch.Tensor, given: dict[str, Any]) -> Any:
    if base == "norm":
        return torch.linalg.vector_norm(tensor, given["ord"], dtype=given.get("dtype"))
    if base == "powsum":
        return torch.ops.aten.linalg__powsum(tensor, given["ord"], dtype=given.get("dtype"))
    if base in ("copy", "zero"):
        return getattr(torch.ops.aten, base)(tensor, *given.values())
    others = [value for name, value in given.items() if name != "alpha"]
    if base in ("addcmul", "addcdiv"):
        named = {"value": others.pop()} if len(others) > 2 else {}
    else:
        named = {"alpha": given["alpha"]} if "alpha" in given else {}
    if base in ("maximum", "minimum") and not isinstance(others[0], torch.Tensor):
        base = "clamp_min" if base == "maximum" else "clamp_max"
    owner = torch.Tensor if is_in_place else torch
    if base == "pow" and not isinstance(tensor, torch.Tensor):
        return torch.pow(tensor, *others)
    return getattr(owner, base + "_" if is_in_place else base)(tensor, *others, **named)
