"""Conversions of one operand with which a refused call would pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simmesh import _core
from simmesh.typed.operators import Operation
from simmesh.typed.stored import Naming, cuts_on, keep, type_of, types_on

# Each changes one type into another and keeps the meaning.
_CONVERSIONS = (
    ("convert", "I", "R"), ("convert", "I", "V"), ("all_reduce", "P", "R"),
    ("all_reduce", "P", "I"), ("convert", "R", "P"), ("convert", "R", "V"),
    ("reinterpret", "V", "P"), ("all_gather", "V", "R"), ("reduce_scatter", "P", "V"),
)  # fmt: skip


def described(naming: Naming, operands: Sequence[Any]) -> str:
    """The types of operands: "; operands: {tp: R}, {tp: V}"."""
    texts = []
    for each in operands:
        types = types_on(each)
        if types is None:
            texts.append("untyped" if hasattr(each, "shape") else repr(each))
            continue
        full = type_of(each) if hasattr(each, "shape") else {
            naming.name(axis): letter for axis, letter in types.items()
        }  # fmt: skip
        texts.append("{" + ", ".join(f"{axis}: {each}" for axis, each in full.items()) + "}")
    return "; operands: " + ", ".join(texts) if texts else ""


def candidates(
    call: Operation, needs: Sequence[bool], naming: Naming, name: str,
    run: Callable[[Any, bool], Any],
) -> list[str]:  # fmt: skip
    """The conversions, as they are written, of one operand along an axis."""
    axis, found = naming.axis(name), []
    for at, operand in enumerate(call.operands):
        types = types_on(operand.value)
        if types is None or axis not in types or operand.is_number:
            continue
        kept, cuts = dict(types), cuts_on(operand.value)
        for op, src, dst in _CONVERSIONS:
            if types[axis] != src or _expert(op, src, dst):
                continue
            keep(operand.value, {**kept, axis: dst}, cuts)
            try:
                run(None, False)
                found.append(f'{op}(operand {at}, "{name}", src={src}, dst={dst})')
            except _core.typed.TypeRefusal:
                pass
            finally:
                keep(operand.value, kept, cuts)
    return found


def _expert(op: str, src: str, dst: str) -> bool:
    try:
        _core.typed.resolve(op, src, dst, False)
    except _core.typed.TypeRefusal:
        return True
    return False
