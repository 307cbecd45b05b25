"""Errors of typing, with the axis, the call, the line of the program, and conversions that would
let the call pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simmesh import _core


class SpmdTypeError(RuntimeError):
    """A call whose operands' types don't fit it.

    ``code`` names the reason, ``axis`` the mesh axis, ``op`` the call, ``line`` the line of the
    program, ``candidates`` the conversions of one operand with which the call passes.
    """

    def __init__(
        self, text: str, *, code: str = "", axis: str = "", op: str = "", line: str = "",
        candidates: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.code, self.axis, self.op, self.line = code, axis, op, line
        self.candidates = list(candidates)


class DTensorPropagationError(SpmdTypeError):
    """A cut that an operation can't keep in a form that types have."""


class SpmdValueError(ValueError):
    """Arguments of a call that don't fit each other. ``code`` names the reason."""

    def __init__(self, text: str, code: str, op: str, line: str) -> None:
        super().__init__(text)
        self.code, self.op, self.line, self.axis = code, op, line, ""


_WHY = {
    "invariant_mixed": "I cannot mix with other types",
    "partial_with_varying": "P cannot combine with Varying",
    "partial_nonlinear": "P cannot propagate through non-linear ops",
    "partial_affine": "a P operand of a sum requires all operands to be Partial",
    "partial_divisor": "Partial type in nonlinear argument: the divisor",
    "partial_twice": "Partial in multiple factors: the product of sums is no sum of products",
    "missing_axis": "an operand has no type there: missing axis",
    "loss_type": "backward() without a gradient would produce incorrect gradients: the loss must "
    "be I or P",
}


# The types that a call takes and gives.
_ENDS = {
    "all_reduce": ("P or V", "R or I"), "all_gather": ("V or S(d)", "R or I"),
    "reduce_scatter": ("P or V", "V or S(d)"), "all_to_all": ("V or S(d)", "V or S(d)"),
    "unshard": ("S(d)", "R or I"), "shard": ("R or I", "S(d)"),
    "redistribute": ("P, V or S(d)", "R, I, V or S(d)"),
}  # fmt: skip


def refuse(
    refusal: _core.typed.TypeRefusal, op: str, details: str = "", candidates: Sequence[str] = ()
) -> Exception:
    """The error of a call that C++ refused, to be raised."""
    code, axis, kind, phrase = refusal.args
    line = _core.call_site()
    where = f" on axis {axis}" if axis else ""
    why = _WHY.get(code, phrase)
    if code in ("bad_src", "bad_dst") and op in _ENDS:
        why = f"{phrase} {_ENDS[op][code == 'bad_dst']}"
    text = f"[typed] {line}: {op}{where}: {why}{details}"
    if candidates:
        text += "\nwould pass with " + "\n             or ".join(candidates)
    if kind == "ValueError":
        return SpmdValueError(text, code, op, line)
    made: type[Any] = DTensorPropagationError if kind.startswith("DTensor") else SpmdTypeError
    error: Exception = made(text, code=code, axis=axis, op=op, line=line, candidates=candidates)
    return error
