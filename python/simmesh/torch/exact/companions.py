"""The exact values behind the elements of tensors, kept for each storage.

A value that isn't known is the element itself. Views share a storage, so they share what stands
behind it. A record checks the bits of elements before it gives their values: whatever another
writer changes has nothing behind it any more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    unless their buffers aren't checked, the number of optimizer steps, and the coarsest rounding
    of a product of matrices in such a step: the distance of 1 from the dtype's next number.
    ``drawn`` is the last random operator on a plain tensor, with its line; ``region`` the DTensor
    whose numbers are drawn.
    """

    mode: Any = None
    under_way: Any = None
    steps = 0
    coarsest_product = 0.0
    drawn = ""
    region: Any = None


scope = _Scope()


@contextmanager
def outside_of_steps() -> Iterator[None]:
    """Computes as outside of an optimizer's step."""
    steps, scope.steps = scope.steps, 0
    try:
        yield
    finally:
        scope.steps = steps


def values(tensor: torch.Tensor) -> Values:
    """The values that arithmetic reads: exact ones, but the elements themselves in the step of an
    optimizer, and the rounded roots of norms.
    """
    return Values.of(tensor) if scope.steps else unrounded(tensor)


#: The values that sums of products read: exact ones everywhere, and the rounded roots of norms.
unrounded = exact_operand


def write(tensor: torch.Tensor, result: Values) -> None:
    """Rounds the result of arithmetic into a tensor and keeps it, except in an optimizer's step."""
    if scope.steps:
        result.round_into(tensor)
        drop(tensor)
    else:
        keep(tensor, result)


def keep_product(tensor: torch.Tensor, result: Values) -> None:
    """Rounds a product of matrices into a tensor and keeps it, in an optimizer's step too."""
    if scope.steps:
        scope.coarsest_product = max(scope.coarsest_product, torch.finfo(tensor.dtype).eps)
    keep(tensor, result)


def is_parameter(tensor: torch.Tensor) -> bool:
    """True for an element of a parameter's storage, or the parameter itself."""
    return isinstance(tensor, torch.nn.Parameter) or is_rounded(tensor)


def nbytes() -> int:
    """The bytes that all records take."""
    return kept_nbytes()


__all__ = [
    "Record", "Values", "carried", "drop", "has", "is_parameter", "keep", "keep_product", "nbytes",
    "outside_of_steps", "record_of", "record_to_keep", "round_parameter", "scope", "unrounded",
    "values", "write",
]  # fmt: skip
