"""Functions that ``local_map`` wrapped: their placements, and those of their gradients.

DTensor takes the gradient of an input to be placed as ``in_grad_placements`` says, and else as the
input is, and gives an output's gradient the output's placement; a partial tensor has a whole
gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simmesh.rules.objects import rows_of_objects
from simmesh.rules.rule import NONE, REPLICATE, Row, Rule, RulePlacement, rule_of_rows

_NAMES = ("in_placements", "out_placements", "in_grad_placements")


@dataclass(frozen=True)
class LocalMap:
    """A local function and the arguments of ``local_map``."""

    function: Callable[..., Any] | None
    in_placements: Any
    out_placements: Any
    in_grad_placements: Any = None


def local_map_of(entry: Any) -> LocalMap | None:
    """The parts of a function that ``local_map`` wrapped, or of a dict with its arguments; None for
    anything else.
    """
    if isinstance(entry, dict):
        unknown = sorted(set(entry) - set(_NAMES))
        if unknown or "out_placements" not in entry or "in_placements" not in entry:
            raise ValueError(
                f"[rules] expected in_placements and out_placements, and in_grad_placements or "
                f"not, got a dict with {', '.join(map(repr, entry)) or 'nothing'}"
            )
        return LocalMap(None, **entry)
    is_wrapped = (
        isinstance(entry, functools.partial)
        and getattr(entry.func, "__name__", "") == "_local_map_wrapped"
    )
    if not is_wrapped:
        return None
    function, out_placements, in_placements, in_grad_placements = entry.args[:4]
    if in_placements is None:
        raise ValueError(
            "[rules] expected a local_map with in_placements, got one that takes any placements: "
            "give them with the rule"
        )
    return LocalMap(function, in_placements, out_placements, in_grad_placements)


def rule_of_local_map(wrapped: LocalMap, is_tensor: Sequence[bool]) -> Rule:
    """The rule of a wrapped function: one claim, on a mesh with as many dims as its placements."""
    inputs = list(wrapped.in_placements)
    gradients = wrapped.in_grad_placements
    gradients = [None] * len(inputs) if gradients is None else list(gradients)
    if len(inputs) == len(is_tensor):
        gradients = [each for each, tensor in zip(gradients, is_tensor) if tensor]
        inputs = [each for each, tensor in zip(inputs, is_tensor) if tensor]
    if len(inputs) != sum(is_tensor):
        raise ValueError(
            f"[rules] in_placements: expected {sum(is_tensor)} inputs, as there are tensors, got "
            f"{len(inputs)}"
        )
    outputs = wrapped.out_placements
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    if outputs and not any(isinstance(each, (list, tuple)) for each in outputs if each is not None):
        # A tuple of placements, for the single output.
        outputs = [outputs]
    given = [each for each in gradients if each is not None]
    rows = rows_of_objects(inputs, outputs)
    of_gradients = rows_of_objects(gradients, outputs) if given else [None] * len(rows)
    return rule_of_rows([[_row(row, grad) for row, grad in zip(rows, of_gradients)]])


def _row(row: Row, gradients: Row | None) -> Row:
    row = replace(
        row,
        inputs=tuple(REPLICATE if each == NONE else each for each in row.inputs),
        is_typed=False,
    )
    given = row.inputs if gradients is None else gradients.inputs
    return replace(
        row,
        input_gradients=tuple(
            _default(placement) if gradient == NONE or gradients is None else gradient
            for placement, gradient in zip(row.inputs, given)
        ),
        output_gradients=tuple(map(_default, row.outputs)),
    )


def _default(placement: RulePlacement) -> RulePlacement:
    return REPLICATE if placement.kind == "partial" else placement
