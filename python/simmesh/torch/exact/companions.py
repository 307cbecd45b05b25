"""The exact values behind the elements of tensors, kept for each storage.

A value that isn't known is the element itself. Views share a storage, so they share what stands
behind it. A record checks the bits of elements before it gives their values: whatever another
writer changes has nothing behind it any more.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from simmesh._core.exact import (
    Record,
    Values,
    carried,
    drop,
    exact_operand,
    has,
    is_rounded,
    keep,
    kept_nbytes,
    record_of,
    record_to_keep,
    round_parameter,
)


class _Scope(threading.local):
    """The state of a thread: the mode that it is in, the operations that it has not waited for
    unless their buffers aren't checked, and the number of optimizer steps.
    """

    mode: Any = None
    under_way: Any = None
    steps = 0


scope = _Scope()


def values(tensor: torch.Tensor) -> Values:
    """The values that arithmetic reads: exact ones, but the elements themselves in the step of an
    optimizer, and the rounded roots of norms.
    """
    return Values.of(tensor) if scope.steps else exact_operand(tensor)


def write(tensor: torch.Tensor, result: Values) -> None:
    """Rounds the result of arithmetic into a tensor and keeps it, except in an optimizer's step."""
    if scope.steps:
        result.round_into(tensor)
        drop(tensor)
    else:
        keep(tensor, result)


def is_parameter(tensor: torch.Tensor) -> bool:
    """True for an element of a parameter's storage, or the parameter itself."""
    return isinstance(tensor, torch.nn.Parameter) or is_rounded(tensor)


def nbytes() -> int:
    """The bytes that all records take."""
    return kept_nbytes()


__all__ = [
    "Record", "Values", "carried", "drop", "has", "is_parameter", "keep", "nbytes", "record_of",
    "record_to_keep", "round_parameter", "scope", "values", "write",
]  # fmt: skip
